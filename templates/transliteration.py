"""Write a text message in the basic alphabet, letter by letter. No Django here.

Only where that brings the whole text into it: a text that holds a letter without a
stand-in (emoji, Chinese, Cyrillic) would lose its marks and save nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import normalize

from providers.sms_text import Alphabet, measure

# ASCII stays as it is, but for the tab: a backtick may be a part of a password.
_ALIKE = {
    "": "\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufe0e\ufe0f\ufeff",
    " ": "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u202f\u205f\u3000",
    "\n": "\v\x85\u2028\u2029",
    "'": "\u00b4\u02b9\u02bb\u02bc\u2018\u2019\u201a\u201b\u2032\u2039\u203a",
    '"': "\u00ab\u00bb\u201c\u201d\u201e\u201f\u2033",
    "-": "\u00b7\u2010\u2011\u2012\u2013\u2014\u2015\u2022\u2212",
    "...": "\u2026",
    "x": "\u00d7",
    "TM": "\u2122",
    "a": "\u00aa",
    "d": "đð₫",
    "D": "ĐÐ",
    "h": "ħ",
    "H": "Ħ",
    "i": "\u0131",
    "l": "ł",
    "L": "Ł",
    "n": "ŋ",
    "N": "Ŋ",
    "o": "\u00ba",
    "oe": "œ",
    "OE": "Œ",
    "SS": "ẞ",
    "t": "ŧ",
    "T": "Ŧ",
    "th": "þ",
    "TH": "Þ",
}
_STAND_INS = {letter: basic for basic, letters in _ALIKE.items() for letter in letters}
_MARKS = re.compile("[\u0300-\u036f]")
# From the scheme's end, or a host's, to where people see the link end.
_LINK = re.compile(r"(?:://|\.\w{2,}[/?#])[^\s\u00ab\u00bb\u2018-\u201f\u2026]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """A character of the text as it was, and what is written for it."""

    position: int
    character: str
    replacement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transliterated:
    """The text that goes out, and what was replaced in it, if anything was."""

    text: str
    replacements: tuple[Replacement, ...] = ()


def transliterate(text: str) -> Transliterated:
    """Replace what keeps a text out of the basic alphabet, all of it or nothing.

    Nothing either where a link would lead elsewhere, or where it would take more
    segments: `…` is three characters.
    """
    unchanged, before = Transliterated(text=text), measure(text)
    if before.alphabet is Alphabet.GSM7:
        return unchanged
    replacements = []
    for at, character in before.forcing:
        stand_in = _stand_in(character)
        if stand_in is None:
            return unchanged
        replacements.append(
            Replacement(position=at, character=character, replacement=stand_in)
        )
    if not _places_in_links(text).isdisjoint(at for at, _ in before.forcing):
        return unchanged
    letters = list(text)
    for each in replacements:
        letters[each.position] = each.replacement
    written = "".join(letters)
    if not written.strip() or measure(written).segments > before.segments:
        return unchanged
    return Transliterated(text=written, replacements=tuple(replacements))


@lru_cache(maxsize=4_096)
def _stand_in(character: str) -> str | None:
    """Return what is written for a character; None where nothing can be."""
    known = _STAND_INS.get(character)
    if known is not None:
        return known
    bare = _MARKS.sub("", normalize("NFD", character))
    return bare if measure(bare).alphabet is Alphabet.GSM7 else None


def _places_in_links(text: str) -> set[int]:
    return {at for link in _LINK.finditer(text) for at in range(*link.span())}
