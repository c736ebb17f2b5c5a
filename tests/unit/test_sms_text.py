"""How many segments a text message is, and which character doubled the bill."""

from __future__ import annotations

import pytest

from providers.sms_text import Alphabet, measure

FRENCH = (
    "Votre code d’accès est 482913. Il expire dans 5 minutes."  # noqa: RUF001
    " Ne le communiquez à personne."
)
GERMAN = (
    "Mit besten Grüßen\u200c, Ihr Team."
    " Ihre Bestellung A-1007 wurde heute um 14:05 Uhr verschickt."
)


@pytest.mark.parametrize(
    ("text", "alphabet", "units", "segments"),
    [
        ("a" * 155 + "€€€", Alphabet.GSM7, 161, 2),
        ("a" * 154 + "€€€", Alphabet.GSM7, 160, 1),
        (FRENCH, Alphabet.UCS2, 86, 2),
        (FRENCH.replace("’", "'"), Alphabet.GSM7, 86, 1),  # noqa: RUF001
        (GERMAN, Alphabet.UCS2, 89, 2),
        ("", Alphabet.GSM7, 0, 1),
        ("a" * 160, Alphabet.GSM7, 160, 1),
        ("a" * 161, Alphabet.GSM7, 161, 2),
        ("a" * 306, Alphabet.GSM7, 306, 2),
        ("a" * 307, Alphabet.GSM7, 307, 3),
        # A pair of escape and character is not parted: 152 and the next segment.
        ("a" * 152 + "€" + "a" * 152, Alphabet.GSM7, 306, 3),
        ("đ" * 70, Alphabet.UCS2, 70, 1),
        ("đ" * 71, Alphabet.UCS2, 71, 2),
        ("đ" * 134, Alphabet.UCS2, 134, 2),
        ("đ" * 135, Alphabet.UCS2, 135, 3),
        ("🙂" * 35, Alphabet.UCS2, 70, 1),
        ("🙂" * 36, Alphabet.UCS2, 72, 2),
        # Nor are the halves of a picture: 66 units and the next segment.
        ("đ" * 66 + "🙂" + "đ" * 66, Alphabet.UCS2, 134, 3),
        ("line\r\nbreak", Alphabet.GSM7, 11, 1),
        ("[x]|{y}~^\\", Alphabet.GSM7, 18, 1),
    ],
)
def test_segments_are_counted_as_they_are_billed(
    text: str, alphabet: Alphabet, units: int, segments: int
) -> None:
    """O-SMS-1, bad input 49."""
    counted = measure(text)

    assert (counted.alphabet, counted.units, counted.segments) == (
        alphabet,
        units,
        segments,
    )


def test_what_forced_sixteen_bits_is_told_with_its_place() -> None:
    """O-SMS-1"""
    assert measure(FRENCH).forcing == ((12, "’"),)  # noqa: RUF001
    assert measure(GERMAN).forcing == ((17, "\u200c"),)
    assert measure("Đã gửi €5").forcing == ((0, "Đ"), (1, "ã"), (4, "ử"))
    assert measure("Grüße für 5 €").forcing == ()


def test_a_tab_and_a_backtick_are_in_no_table() -> None:
    assert [character for _, character in measure("\t`ç").forcing] == ["\t", "`", "ç"]
