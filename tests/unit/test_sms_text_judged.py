"""Twilio's own calculator counts the same (npm sms-segments-calculator)."""

from __future__ import annotations

import random
from typing import Any

from providers.sms_text import measure
from tests import judges

BASIC = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡AZÄÖÑÜ§¿az"
EXTENDED = "\f^{}\\[~]|€"
VIETNAMESE = "ăâđêôơưạảãàáặẳẵằắậẩẫầấẹẻẽèéệểễềếịỉĩìíọỏõòóộổỗồốợởỡờớụủũùúựửữừứỵỷỹỳýĐẮỄ"
# Each of them is one character to whoever reads it.
CLUSTERS = [
    *("🙂", "👍🏽", "🇻🇳", "👨‍👩‍👧‍👦", "❤️", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "👩🏻‍💻", "🏳️‍🌈"),
    *("e\u0301", "o\u031b\u0323", "ก็", "นี้", "각", "नि", "க்ஷி", "ﷺ"),
    *(
        "\r\n",
        "\u200b",
        "\u200d",
        "\u00a0",
        "\ufeff",
        "中",
        "”",
        "\u2013",
        "…",
        "\t",
        "`",
        "ç",
    ),
]
BORDERS = [1, 69, 70, 71, 133, 134, 135, 159, 160, 161, 305, 306, 307, 459, 460]


def corpus() -> list[str]:
    """Return texts at and around every border, and others that a seed makes."""
    texts = ["", "a", *BASIC, *EXTENDED, *CLUSTERS]
    for size in BORDERS:
        texts += ["a" * size, "đ" * size, "a" * (size - 1) + "€", "€" * (size // 2)]
        texts += ["a" * (size - 1) + "đ", "€" + "a" * (size - 1), "a\r\n" * (size // 3)]
    for cluster in CLUSTERS:
        for before in (64, 65, 66, 67, 131, 132, 133):
            texts.append("đ" * before + cluster + "đ" * 60)
    generator = random.Random(91)
    pieces = [*BASIC, *EXTENDED, *VIETNAMESE, *CLUSTERS]
    for alphabet in (list(BASIC), [*BASIC, *EXTENDED], [*BASIC, *VIETNAMESE], pieces):
        for _ in range(100):
            length = generator.randint(1, 330)
            texts.append("".join(generator.choices(alphabet, k=length)))
    return texts


def told(text: str) -> dict[str, Any]:
    counted = measure(text)
    return {
        "alphabet": counted.alphabet.value,
        "units": counted.units,
        "segments": counted.segments,
    }


def test_alphabet_units_and_segments_are_those_of_twilios_calculator() -> None:
    """O-SMS-1"""
    texts = corpus()
    assert len(texts) >= 200
    judged = judges.ask("sms.js", texts)

    differing = [
        (text, ours, theirs)
        for text, theirs in zip(texts, judged, strict=True)
        if (ours := told(text)) != theirs
    ]

    assert differing == []
