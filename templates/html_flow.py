"""What stands in HTML in which order: to see whether a tool has moved anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import zip_longest

from templates.grammar import TextRefused
from templates.tag_shield import Place, Shielded, refusal

# The tools recurse, and end the process at some thousands; MJML becomes deeper.
MAX_DEPTH = 100
_MAX_DEPTH_MADE = 1_000

_VOID = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"),
        *("param", "source", "track", "wbr"),
    }
)
# A parser adds these by itself; styles go where they apply.
_IMPLIED = frozenset({"html", "head", "body", "tbody", "colgroup", "style"})


class _TooDeep(Exception):
    """Elements are nested too deep, or not closed."""


class _Reader(HTMLParser):
    """Reads what stands in HTML, and within which element each hidden block tag."""

    def __init__(self, shielded: Shielded, *, max_depth: int = _MAX_DEPTH_MADE) -> None:
        super().__init__()
        self.flow: list[str] = []
        self.parents: dict[str, int] = {}
        self._shielded = shielded
        self._max_depth = max_depth
        self._words = re.compile(f"({shielded.words.pattern})")
        self._open: list[tuple[str, int]] = [("", 0)]
        self._count = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in _IMPLIED:
            self.flow.append(f"<{tag}>")
        if tag not in _VOID:
            self._count += 1
            self._open.append((tag, self._count))
        if len(self._open) > self._max_depth:
            raise _TooDeep(f"elements nested more than {self._max_depth} deep")

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        if tag not in _IMPLIED:
            self.flow.append(f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        names = [name for name, _ in self._open]
        if tag in names:
            del self._open[len(names) - 1 - names[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if self._open[-1][0] not in {"style", "mj-style"}:
            pieces = self._words.split(data)
            self.flow += filter(None, ("".join(piece.split()) for piece in pieces))

    def handle_comment(self, data: str) -> None:
        if data in self._shielded.hidden:
            self.flow.append(data)
            self.parents[data] = self._open[-1][1]


def check_survivable(shielded: Shielded) -> None:
    """Refuse what the tools do not survive: elements nested too deep, broken
    declarations."""
    reader = _Reader(shielded, max_depth=MAX_DEPTH)
    try:
        reader.feed(shielded.text)
        reader.close()
    # The parser asserts that a declaration has a name.
    except (AssertionError, _TooDeep) as error:
        line = shielded.line_of(reader.getpos()[0])
        raise TextRefused(f"no sound HTML: {error}", line=line) from error


def check_same_flow(shielded: Shielded, before: str, after: str) -> None:
    """Raise TextRefused unless elements, texts and tags come as they came before."""
    line = 1
    pairs = zip_longest(_joined(shielded, before), _joined(shielded, after))
    for was, now in pairs:
        if was != now:
            first, second = (shielded.restore(each or "the end") for each in (now, was))
            raise TextRefused(
                f"here a mail program reads {first:.40} before {second:.40}", line=line
            )
        for word in shielded.words.findall(was or ""):
            line = shielded.hidden[word].line


def check_blocks(shielded: Shielded, html: str) -> None:
    """Raise TextRefused where a block begins in one element and ends in another."""
    parents = _read(shielded, html).parents
    opened: list[str] = []
    for word, hidden in shielded.hidden.items():
        tag = hidden.tag
        if hidden.place is not Place.BLOCK:
            continue
        if tag.begins_block:
            opened.append(word)
        elif tag.name != "set" and opened:
            begun = opened.pop() if tag.name.startswith("end") else opened[-1]
            if parents.get(word) != parents.get(begun):
                message = f"is in another element than {shielded.hidden[begun].text}"
                raise refusal(hidden, message)


def settle_table_bodies(shielded: Shielded, html: str) -> str:
    """Let a loop over a table's rows begin in the same body as it ends.

    Parsers add the <tbody> only where a row begins: after the tag of the loop.
    """
    word = shielded.words.pattern

    def settle(found: re.Match[str]) -> str:
        written = rf"<!--{found[2]}-->\s*<tbody"
        if re.search(written, shielded.text, re.IGNORECASE):
            return found[0]
        return f"<tbody>{found[1]}"

    return re.sub(rf"((?:<!--({word})-->\s*)+)<tbody>", settle, html)


def _read(shielded: Shielded, html: str) -> _Reader:
    reader = _Reader(shielded)
    try:
        reader.feed(html)
        reader.close()
    except _TooDeep as error:
        raise TextRefused(str(error), line=1) from error
    return reader


def _joined(shielded: Shielded, html: str) -> Iterator[str]:
    """Yield the flow, texts without the spaces in which they may differ."""
    text = ""
    for each in _read(shielded, html).flow:
        if each.startswith("<") or each in shielded.hidden:
            if text:
                yield text
            yield each
            text = ""
        else:
            text += each
    if text:
        yield text
