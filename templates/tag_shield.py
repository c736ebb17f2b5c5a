"""Words in the place of template tags, while tools that know HTML alone are at work.

What a loop or a condition goes around may stand where HTML takes no text, as between
the rows of a table: its tags become comments there. What stands in the value of an
attribute becomes one word, whatever the tags in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from html import unescape
from itertools import chain, takewhile, zip_longest
from operator import eq
from typing import Any

from templates.grammar import Tag, TextRefused, find_tags

# Every character belongs to one piece, and none is looked at twice.
_PIECE = re.compile(
    r"""
    <!--.*?(?:-->|\Z)
  | <(?P<raw>style|mj-style|title|mj-title|mj-preview|script|textarea)\b.*?
      (?:</(?P=raw)\s*>|\Z)
  | <(?P<end>/?)(?P<element>[a-z][a-z0-9:-]*)(?:[^<>"']|"[^"]*"|'[^']*')*+>?
  | [^<]+ | <
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_VALUE = re.compile(r"""=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")


class Place(Enum):
    """What a hidden tag stands in, which decides what may become of it."""

    BLOCK = auto()  # a statement around content: there once, in its turn
    PRINT = auto()  # printed as content: in its turn
    VALUE = auto()  # within a block it stays within
    HEAD = auto()  # a style or a default, which is written wherever it applies


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hidden:
    """What a word stands for; a value's is all from its first tag to its last."""

    word: str
    text: str
    plain: str  # what it stands for where no HTML is
    tags: tuple[str, ...]
    line: int
    place: Place
    tag: Tag  # the first
    within: str = ""  # the word of the last BLOCK before it

    @property
    def is_statement(self) -> bool:
        """Say whether it does something, and prints nothing."""
        return bool(self.tag.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shielded:
    """A text with words for its tags, and what they stand for."""

    text: str
    hidden: dict[str, Hidden]
    words: re.Pattern[str]

    def restore(self, text: str) -> str:
        """Put the tags back into HTML made of the text; raise TextRefused where there
        would be others then."""
        restored = self._put_back(text)
        self._check_tags(text, restored)
        return restored

    def restore_plain(self, text: str) -> str:
        """Put the tags back into plain text made of the text, as `restore`."""
        restored = self.words.sub(lambda found: self.hidden[found[0]].plain, text)
        self._check_tags(text, restored)
        return restored

    def line_at(self, position: int) -> int:
        """Return the line of the source that a position of the text is from."""
        return self._put_back(self.text[:position]).count("\n") + 1

    def line_of(self, line: int) -> int:
        """Return the line of the source that a line of the text is."""
        before = self.text.split("\n")[: line - 1]
        return self._put_back("\n".join([*before, ""])).count("\n") + 1

    def _put_back(self, text: str) -> str:
        return re.sub(
            rf"<!--({self.words.pattern})-->|{self.words.pattern}",
            lambda found: self.hidden[found[1] or found[0]].text,
            text,
        )

    def _check_tags(self, text: str, restored: str) -> None:
        """Refuse braces that were apart, or entities, and begin a tag now."""
        found = [self.hidden[word] for word in self.words.findall(text)]
        expected = [tag for hidden in found for tag in hidden.tags]
        tags: list[str] = []
        with suppress(TextRefused):  # its line would be one of what was made
            tags += (restored[tag.start : tag.end] for tag in find_tags(restored))
        if tags != expected:
            lines = [hidden.line for hidden in found for _ in hidden.tags]
            same = sum(1 for _ in takewhile(bool, map(eq, tags, expected)))
            raise TextRefused(
                "braces begin a tag here: print them", line=[*lines, 1][same]
            )

    def check(self, text: str, *, plain: bool = False) -> None:
        """Raise TextRefused where a tag was lost, repeated or moved out of its block.

        Plain text need not hold what stood in values and heads.
        """
        found = [self.hidden[word] for word in self.words.findall(text)]
        self._check_order(found)
        self._check_values(found)
        there = {hidden.word for hidden in found}
        for hidden in () if plain else self.hidden.values():
            if hidden.word not in there:
                raise refusal(hidden, "would be lost here")

    def _check_order(self, found: Sequence[Hidden]) -> None:
        flowing = {Place.BLOCK, Place.PRINT}
        right = [each for each in self.hidden.values() if each.place in flowing]
        seen = list(dict.fromkeys(each for each in found if each.place in flowing))
        for expected, actual in zip(right, [*seen, None], strict=False):
            if actual is not expected:
                raise refusal(expected, "would be lost or moved here")
        times = Counter(each.word for each in found)
        for each in right:
            if each.place is Place.BLOCK and times[each.word] > 1:
                raise refusal(each, "would be repeated here")

    def _check_values(self, found: Iterable[Hidden]) -> None:
        within = ""
        for each in found:
            if each.place is Place.BLOCK:
                within = each.word
            elif each.place is Place.VALUE and each.within != within:
                raise refusal(each, "would be moved out of its block")


def refusal(hidden: Hidden, message: str) -> TextRefused:
    """Say what would become of a tag, and where it is."""
    return TextRefused(f"{hidden.text} {message}", line=hidden.line)


def shield(source: str) -> Shielded:
    """Hide the tags of a text; raise TextRefused where HTML has no place for one."""
    prefix = "zq"
    while prefix in source.lower():
        prefix += "q"
    return _Shielding(source, prefix).run()


class _Shielding:
    """Shielding a text under way."""

    def __init__(self, source: str, prefix: str) -> None:
        self._source = source
        self._prefix = prefix
        self._words = re.compile(rf"{prefix}\d+z")
        self._tags: dict[str, Hidden] = {}
        self._hidden: dict[str, Hidden] = {}
        self._within = ""
        self._in_head = False

    def run(self) -> Shielded:
        worded = self._with_words()
        return Shielded(
            text="".join(self._piece(piece) for piece in _PIECE.finditer(worded)),
            hidden=self._hidden,
            words=self._words,
        )

    def _with_words(self) -> str:
        pieces, at, line = [], 0, 1
        for tag in find_tags(self._source):
            pieces.append(self._source[at : tag.start])
            line += self._source.count("\n", at, tag.start)
            text = self._source[tag.start : tag.end]
            if tag.opening != "{#":
                word = f"{self._prefix}{len(self._tags)}z"
                self._tags[word] = Hidden(
                    word=word,
                    text=text,
                    plain=text,
                    tags=(text,),
                    line=line,
                    place=Place.PRINT,
                    tag=tag,
                )
                pieces.append(word)
            line += text.count("\n")
            at = tag.end
        return "".join([*pieces, self._source[at:]])

    def _piece(self, piece: re.Match[str]) -> str:
        text = piece[0]
        if (piece["element"] or "").lower() == "mj-head":
            self._in_head = not piece["end"]
        if not self._words.search(text):
            return text
        match (piece["raw"] or "").lower():
            case "style" | "mj-style":
                return self._words.sub(self._hide_in_style, text)
            case "":
                pass
            case _:
                return self._hide_run(text)
        if piece["element"]:
            return self._element(text)
        if text.startswith("<!--"):
            return self._hide_run(text)
        return self._words.sub(self._hide_in_content, text)

    def _hide_in_content(self, found: re.Match[str]) -> str:
        known = self._tags[found[0]]
        if known.is_statement:
            self._within = self._hide(known, place=Place.BLOCK)
            return f"<!--{found[0]}-->"
        return self._hide(known, place=Place.PRINT)

    def _hide_in_style(self, found: re.Match[str]) -> str:
        known = self._tags[found[0]]
        if known.is_statement:
            raise refusal(known, "may not stand in a style")
        return self._hide(known, place=Place.HEAD)

    def _element(self, text: str) -> str:
        outside = _VALUE.sub("", text)
        if stray := self._words.search(outside):
            message = "must stand within the value of an attribute"
            raise refusal(self._tags[stray[0]], message)
        return _VALUE.sub(lambda value: self._hide_run(value[0], in_value=True), text)

    def _hide_run(self, text: str, *, in_value: bool = False) -> str:
        """Hide all from the first tag to the last as one, and keep the rest."""
        found = list(self._words.finditer(text))
        if not found:
            return text
        run = [self._tags[each[0]] for each in found]
        self._check_blocks(run)
        start, end = found[0].start(), found[-1].end()
        between = self._words.split(text[start:end])
        quoted = (
            [each.replace('"', "&quot;") for each in between] if in_value else between
        )
        self._hide(
            run[0],
            text=_joined(quoted, run),
            plain=_joined(map(unescape, between), run),
            tags=tuple(each.text for each in run),
            place=Place.HEAD if self._in_head else Place.VALUE,
        )
        return text[:start] + run[0].word + text[end:]

    def _check_blocks(self, run: Sequence[Hidden]) -> None:
        opened: list[Hidden] = []
        for each in run:
            if each.tag.begins_block:
                opened.append(each)
            elif each.tag.name.startswith("end") and opened:
                opened.pop()
            elif each.tag.name not in {"", "set"} and not opened:
                raise refusal(each, "begins elsewhere")
        if opened:
            raise refusal(opened[-1], "must end where it begins")

    def _hide(self, known: Hidden, **changes: Any) -> str:
        self._hidden[known.word] = replace(known, within=self._within, **changes)
        return known.word


def _joined(between: Iterable[str], run: Iterable[Hidden]) -> str:
    """Write what stands between the tags of a run, which it begins and ends with."""
    pieces = zip_longest(between, (hidden.text for hidden in run), fillvalue="")
    return "".join(chain.from_iterable(pieces))
