"""How a text goes out by SMS: in which alphabet, in how many segments, and why.

3GPP TS 23.038: 160 characters of the basic alphabet in one segment, 153 in each
of several; 70 and 67 units of 16 bits where one character is in neither table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from wcwidth import iter_graphemes

_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
# Each goes out as an escape and a second character.
_EXTENDED = frozenset("\f^{}\\[~]|€")


class Alphabet(StrEnum):
    """What a text is written in on its way."""

    GSM7 = "gsm7"
    UCS2 = "ucs2"


# Units in a single segment, and in each of several.
_ROOM = {Alphabet.GSM7: (160, 153), Alphabet.UCS2: (70, 67)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmsText:
    """`units` are what segments are counted in; `forcing` are the characters, with
    their positions, because of which a text is not in the basic alphabet."""

    alphabet: Alphabet
    units: int
    segments: int
    forcing: tuple[tuple[int, str], ...] = ()


def measure(text: str) -> SmsText:
    """Count a text; an empty one is one segment, as providers bill it.

    Neither an escape and its character nor what a person sees as one character (a
    letter and its marks, a family of emoji) is parted, so that a segment may stay a few
    units short. That is how Twilio counts; tests/judges asks its calculator.
    """
    forcing = tuple(
        (at, character)
        for at, character in enumerate(text)
        if character not in _BASIC and character not in _EXTENDED
    )
    alphabet = Alphabet.UCS2 if forcing else Alphabet.GSM7
    units = _units(text, alphabet)
    alone, each = _ROOM[alphabet]
    return SmsText(
        alphabet=alphabet,
        units=units,
        segments=1 if units <= alone else _segments(text, alphabet, room=each),
        forcing=forcing,
    )


def _units(text: str, alphabet: Alphabet) -> int:
    if alphabet is Alphabet.GSM7:
        return len(text) + sum(character in _EXTENDED for character in text)
    return len(text) + sum(character > "\uffff" for character in text)


def _segments(text: str, alphabet: Alphabet, *, room: int) -> int:
    segments, used = 1, 0
    for piece in text if alphabet is Alphabet.GSM7 else _seen(text):
        size = _units(piece, alphabet)
        if used + size > room:
            segments, used = segments + 1, 0
        used += size
    return segments


def _seen(text: str) -> Iterator[str]:
    """Yield what a person sees as one character; a line break is two."""
    for piece in iter_graphemes(text):
        if piece == "\r\n":
            yield from piece
        else:
            yield piece
