"""The part of the template language that tenants may write.

Checked on the text, before the engine sees it, because the engine does not survive
everything: a long chain of operators overflows its parser's stack and ends the
process, `[0] * 10**8` and sums of lists cost seconds and gigabytes that no fuel
pays for, and methods of the values would be called. So: no calls, no arithmetic that
can build a list, lists of constants only, nothing deep and nothing long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

MAX_TEXT = 100_000
MAX_TAG = 500
MAX_NESTING = 20

STATEMENTS = frozenset(
    {"if", "elif", "else", "endif", "for", "endfor", "set", "endset"}
)
FILTERS = frozenset(
    {
        *("abs", "float", "int", "round", "string"),
        *("capitalize", "indent", "lower", "replace", "split", "title", "trim"),
        *("upper", "urlencode"),
        *("date", "time", "datetime", "number", "currency", "plural"),
        *("d", "default", "dictsort", "first", "groupby", "items", "join", "last"),
        *("length", "max", "min", "reverse", "sort", "unique"),
    }
)
TESTS = frozenset(
    {
        *("boolean", "defined", "divisibleby", "even", "false", "float"),
        *("integer", "mapping", "none", "number", "odd", "sequence"),
        *("string", "true", "undefined"),
    }
)
_KEYWORDS = frozenset({"and", "else", "if", "in", "is", "not", "or"}) | STATEMENTS
_CONSTANTS = frozenset({"true", "false", "none", "True", "False", "None"})

_OPENING = re.compile(r"\{\{[-+]?|\{%[-+]?|\{#")
_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<number>[0-9]+(?:\.[0-9]+)?)(?![A-Za-z0-9_])
    | (?P<name>[A-Za-z][A-Za-z0-9_]*)
    | (?P<end>[-+]?(?:\}\}|%\}))
    | (?P<operator>==|!=|<=|>=|//|[-/%<>=|~.,:()\[\]])
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_CLOSING = {"(": ")", "[": "]"}


class TextRefused(ValueError):
    """The text is not one that a template may hold."""

    def __init__(self, message: str, *, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Token(NamedTuple):
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A tag of a text and where it stands; a comment has no tokens."""

    start: int
    end: int
    opening: str  # {{, {% or {#
    tokens: list[_Token]

    @property
    def name(self) -> str:
        """Name the statement; empty for what is printed and for comments."""
        return self.tokens[0].text if self.opening == "{%" and self.tokens else ""

    @property
    def begins_block(self) -> bool:
        """Say whether an `end…` belongs to it: `set x` takes one, `set x = 1` not."""
        assigns = len(self.tokens) > 2 and self.tokens[2].text == "="
        return self.name in {"if", "for"} or (self.name == "set" and not assigns)


@dataclass(slots=True)
class _Reading:
    """Where in a text we are, and how deep."""

    text: str
    at: int = 0
    # One number per open block: 1, and 1 more for each elif, which nests too.
    blocks: list[int] = field(default_factory=list)

    def refusal(self, message: str) -> TextRefused:
        return TextRefused(message, line=self.text.count("\n", 0, self.at) + 1)


def check_text(text: str) -> None:
    """Raise TextRefused, with the line, unless all of it may be written."""
    reading = _Reading(text)
    if len(text) > MAX_TEXT:
        raise reading.refusal(f"longer than {MAX_TEXT} characters")
    for tag in _tags(reading):
        statement = tag.opening == "{%"
        if statement:
            _check_statement(reading, tag)
        _check_names(reading, tag.tokens)
        _check_brackets(reading, tag.tokens, statement=statement)


def find_tags(text: str) -> Iterator[Tag]:
    """Yield the tags and comments of a text in order; raise TextRefused where one does
    not end."""
    return _tags(_Reading(text))


def plural_forms(text: str) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield, for each `plural` in a text that check_text lets pass, its line and the
    names of its forms."""
    reading = _Reading(text)
    for tag in _tags(reading):
        texts = [token.text for token in tag.tokens]
        for at, pair in enumerate(pairwise(texts), start=2):
            if pair == ("|", "plural"):
                given = texts[at : texts.index(")", at)] if ")" in texts[at:] else []
                names = {name for name, sign in pairwise(given) if sign == "="}
                yield text.count("\n", 0, reading.at) + 1, frozenset(names)


def _tags(reading: _Reading) -> Iterator[Tag]:
    """Yield the tags of a text, each with `reading` at its beginning."""
    while opening := _OPENING.search(reading.text, reading.at):
        reading.at = opening.start()
        is_comment = opening[0] == "{#"
        tokens, end = (_read_comment if is_comment else _read_tag)(reading, opening)
        yield Tag(start=reading.at, end=end, opening=opening[0][:2], tokens=tokens)
        reading.at = end


def _read_comment(
    reading: _Reading, opening: re.Match[str]
) -> tuple[list[_Token], int]:
    end = reading.text.find("#}", opening.end())
    if end < 0:
        raise reading.refusal("the comment does not end")
    return [], end + 2


def _read_tag(reading: _Reading, opening: re.Match[str]) -> tuple[list[_Token], int]:
    closing = "}}" if opening[0].startswith("{{") else "%}"
    tokens: list[_Token] = []
    at = opening.end()
    while match := _TOKEN.match(reading.text, at):
        at = match.end()
        if at - opening.start() > MAX_TAG:
            raise reading.refusal(f"a tag longer than {MAX_TAG} characters")
        kind = str(match.lastgroup)
        if kind == "end":
            if not match[kind].endswith(closing):
                break
            return tokens, at
        if tokens and tokens[-1].text == "." and kind == "name":
            kind = "attribute"  # x.if names a member, whatever `if` means elsewhere
        tokens.append(_Token(kind, match[match.lastgroup or 0]))
    rest = reading.text[at : at + 20].strip()
    raise reading.refusal(
        f"not understood: {rest!r}" if rest else "the tag does not end"
    )


def _check_brackets(
    reading: _Reading, tokens: list[_Token], *, statement: bool
) -> None:
    """Refuse calls, and lists and tuples of anything but constants.

    A list of variables can hold the same list many times over, and a few lines make
    it longer than any memory once it is written out.
    """
    loop_head = statement and tokens[:1] == [_Token("name", "for")]
    stack: list[str] = []
    for index, token in enumerate(tokens):
        inside = stack[-1] if stack else "head" if loop_head else ""
        if inside == "list" and not _is_constant(token):
            raise reading.refusal("a list may hold constants only")
        if token.text == "," and inside not in {"arguments", "list", "head"}:
            raise reading.refusal("',' makes a tuple, which is not allowed")
        if token.text in _CLOSING:
            stack.append(_bracket(reading, tokens, index))
        elif token.text in _CLOSING.values():
            _close(reading, stack, token)
        loop_head = loop_head and token.text != "in"
    if stack:
        # The engine would look for the end of the tag further on than we do.
        raise reading.refusal("a bracket that is not closed")


def _bracket(reading: _Reading, tokens: list[_Token], index: int) -> str:
    if not index or not _is_operand(tokens[index - 1]):
        return "group" if tokens[index].text == "(" else "list"
    if tokens[index].text == "[":
        return "index"
    name = tokens[index - 1].text
    before = [token.text for token in tokens[max(index - 3, 0) : index - 1]]
    if before[-1:] == ["|"] and name == "trim":
        # It compares each character with each: half a second for two long texts.
        raise reading.refusal("trim takes no arguments here")
    if before[-1:] in (["|"], ["is"]) or before == ["is", "not"]:
        return "arguments"
    raise reading.refusal(f"calls are not allowed: {name}(")


def _close(reading: _Reading, stack: list[str], token: _Token) -> None:
    closing = ")" if stack and stack[-1] in {"group", "arguments"} else "]"
    if not stack or token.text != closing:
        raise reading.refusal(f"unbalanced {token.text!r}")
    stack.pop()


def _is_operand(token: _Token) -> bool:
    match token.kind:
        case "operator":
            return token.text in _CLOSING.values()
        case "name":
            return token.text not in _KEYWORDS
        case _:
            return True


def _is_constant(token: _Token) -> bool:
    if token.kind == "name":
        return token.text in _CONSTANTS
    return token.kind != "operator" or token.text in {",", "-", "]"}


def _check_names(reading: _Reading, tokens: list[_Token]) -> None:
    for before, token in _pairs(tokens):
        if before == "|" and token.text not in FILTERS:
            raise reading.refusal(f"no such filter here: {token.text}")
        if before == "is" and token.text not in TESTS:
            raise reading.refusal(f"no such test here: {token.text}")


def _pairs(tokens: list[_Token]) -> Iterator[tuple[str, _Token]]:
    """Yield each token with the text before it, `is not` taken as `is`."""
    before = ""
    for token in tokens:
        if before == "is" and token.text == "not":
            continue
        yield before, token
        before = token.text


def _check_statement(reading: _Reading, tag: Tag) -> None:
    name = tag.name
    if name not in STATEMENTS:
        raise reading.refusal(f"no such statement here: {name}")
    if tag.begins_block:
        reading.blocks.append(1)
    elif name == "elif" and reading.blocks:
        reading.blocks[-1] += 1
    elif name.startswith("end") and reading.blocks:
        reading.blocks.pop()
    if sum(reading.blocks) > MAX_NESTING:
        raise reading.refusal(f"nested more than {MAX_NESTING} deep")
