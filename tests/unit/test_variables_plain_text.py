"""What is HTML or a link, and what only looks a little like it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from templates.text_rules import text_fault

DATA = Path(__file__).parent.parent / "data"
BENIGN = (DATA / "benign_variables.txt").read_text("utf-8").splitlines()
# One JSON string a line: most of them are invisible.
HOSTILE = [
    json.loads(line)
    for line in (DATA / "hostile_variables.txt").read_text("ascii").splitlines()
]
HTML, LINK = "must not hold HTML", "must not hold a link"
IP_ADDRESS = "must not hold an IP address"
EMAIL_ADDRESS = "must not hold an e-mail address or a link"


def test_every_hostile_variable_is_refused() -> None:
    """Bad input 37, 38, 40, 96"""
    missed = [text for text in HOSTILE if not text_fault(text)]

    assert len(set(HOSTILE)) >= 150
    assert missed == []


def test_of_a_thousand_benign_variables_half_a_percent_is_refused_at_most() -> None:
    """Names, addresses, products, order lines and sentences, Vietnamese and English."""
    alarms = {text: fault for text in BENIGN if (fault := text_fault(text))}
    tempting = [text for text in BENIGN if any(c in text for c in "./0123456789")]

    assert len(set(BENIGN)) >= 1_000
    assert len(tempting) >= 200
    assert len(alarms) <= len(BENIGN) * 0.005, alarms


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<script>", HTML),
        ("&lt;", HTML),
        ("O'Brien & Sons <VIP>", ""),
        ("a < b & c > d", ""),
        ("evil.com", LINK),
        ("Mr.Do", ""),
        ("Mr.Do/x", LINK),
        ("https://[::1]/", LINK),
        ("javascript:alert(1)", LINK),
        ("1.2.3.4", IP_ADDRESS),
        ("1.250.100.200 đồng", ""),
        ("an@evil.com", EMAIL_ADDRESS),
        ("lúc 5pm @ sân A", ""),
        ("evil [dot] com", LINK),
    ],
)
def test_fault_says_what_was_found(text: str, fault: str) -> None:
    """O-EML-1, bad input 37, 38"""
    assert text_fault(text) == fault


def test_a_link_split_over_lines_is_none() -> None:
    assert text_fault("evil\n.com") == ""
    assert text_fault("Hello.\ncom") == ""


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "text",
    [
        "a" * 32_000,
        "a." * 16_000,
        "." * 32_000,
        "a.b-" * 8_000,
        "1." * 16_000,
        "<a " * 10_000,
        "&a" * 16_000,
        ":/" * 16_000,
        "h :" * 10_000,
        "(." * 16_000,
        " . " * 10_000,
        "Mr.Do " * 5_000,
        "\u200b" * 10_000,
        "ﷺ" * 10_000,
    ],
    ids=lambda text: text[:4],
)
def test_no_text_takes_long(text: str) -> None:
    for _ in range(10):
        text_fault(text)
