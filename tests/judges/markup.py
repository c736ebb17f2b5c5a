"""E-mail's HTML as a list of what is in it, so that two compilers can be compared.

What no reader sees is left out: the order of attributes and of declarations in a
`style`, that of the rules that give columns their widths, white space between elements
and in CSS, quotes, empty attributes, and `vertical-align` as an attribute, which is
none. What Outlook alone reads, in conditional comments, is read like everything else.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

_DECLARATION = re.compile(r";(?![^(]*\))")
_WIDTH = re.compile(r"(?:\.moz-text-html )?\.mj-column-[\w-]+\{[^}]*\}")
_WIDTHS = re.compile(rf"(?:{_WIDTH.pattern})+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SPACES = re.compile(r"\s+")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {
            name: _written(name, value or "")
            for name, value in attrs
            if name != "vertical-align"
        }
        told = " ".join(
            f"{name}={named[name]}" for name in sorted(named) if named[name]
        )
        self.seen.append(f"<{tag} {told}>")

    def handle_endtag(self, tag: str) -> None:
        self.seen.append(f"</{tag}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        if text := _SPACES.sub(" ", data).strip():
            is_css = self.seen[-1:] and self.seen[-1].startswith("<style")
            self.seen.append(_css(text) if is_css else text)

    def handle_comment(self, data: str) -> None:
        condition = re.match(r"\[if ([^\]]*)\]>", data)
        if condition is None:
            if text := data.strip():
                self.seen.append(f"<!-- {text} -->")
            return
        self.seen.append(f"<!--if {_SPACES.sub(' ', condition[1])}-->")
        inner = data[condition.end() :].removesuffix("<![endif]")
        self.seen += read(inner)
        self.seen.append("<!--endif-->")

    def unknown_decl(self, data: str) -> None:
        self.seen.append(f"<![{data.strip()}]>")


def read(html: str) -> list[str]:
    """Return tags, texts and comments in their order."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return _joined(reader.seen)


def differ(one: str, other: str) -> bool:
    """Tell whether two things that were read differ by more than a pixel."""
    if _NUMBER.sub("0", one) != _NUMBER.sub("0", other):
        return True
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return any(abs(float(a) - float(b)) > 1 for a, b in pairs)


def _joined(seen: list[str]) -> list[str]:
    """Leave out where a condition ends and begins again at once."""
    told: list[str] = []
    condition = ""
    for each in seen:
        if each.startswith("<!--if "):
            if told and told[-1] == "<!--endif-->" and each == condition:
                told.pop()
                continue
            condition = each
        told.append(each)
    return told


def _css(text: str) -> str:
    tight = re.sub(r"\s*([{}:;,>+!])\s*", r"\1", re.sub(r"/\*.*?\*/", "", text))
    return _WIDTHS.sub(_in_order, tight.replace(";}", "}"))


def _in_order(rules: re.Match[str]) -> str:
    return "".join(sorted(_WIDTH.findall(rules[0])))


def _written(name: str, value: str) -> str:
    if name == "style":
        parts = (part.partition(":") for part in _DECLARATION.split(value))
        told = {
            key.strip().lower(): _SPACES.sub(" ", said.strip())
            for key, _, said in parts
            if key.strip()
        }
        return ";".join(f"{key}:{told[key]}" for key in sorted(told))
    if name == "class":
        return " ".join(sorted(value.split()))
    return _SPACES.sub(" ", value.strip())
