"""How a text goes out by SMS: in which alphabet, in how many segments, and why.

3GPP TS 23.038: 160 characters of the basic alphabet in one segment, 153 in each
of several; 70 and 67 units of 16 bits where one character is in neither table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

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

    Neither an escape and its character nor the two halves of one outside the BMP are
    parted, so that a segment may stay a unit short.
    """
    forcing = tuple(
        (at, character)
        for at, character in enumerate(text)
        if character not in _BASIC and character not in _EXTENDED
    )
    alphabet = Alphabet.UCS2 if forcing else Alphabet.GSM7
    sizes = list(_sizes(text, alphabet))
    return SmsText(
        alphabet=alphabet,
        units=sum(sizes),
        segments=_segments(sizes, alphabet),
        forcing=forcing,
    )


def _sizes(text: str, alphabet: Alphabet) -> Iterator[int]:
    if alphabet is Alphabet.GSM7:
        return (1 + (character in _EXTENDED) for character in text)
    return (1 + (character > "\uffff") for character in text)


def _segments(sizes: list[int], alphabet: Alphabet) -> int:
    alone, each = _ROOM[alphabet]
    if sum(sizes) <= alone:
        return 1
    segments, used = 1, 0
    for size in sizes:
        if used + size > each:
            segments, used = segments + 1, 0
        used += size
    return segments
