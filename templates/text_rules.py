"""What the texts among a template's variables may hold. No Django here.

Nothing that becomes HTML or a link, unless the schema says so: `x-hosts` beside the
format `uri` takes URLs of those hosts, `x-text: any` takes every text, and so do
`enum` and `const`. Rules are read from where `properties`, `items`,
`additionalProperties` and `$ref` lead; whatever lies elsewhere gets none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from templates.links import fold, is_disguised_link, links_in
from templates.markup import holds_markup
from templates.plain_json import children
from templates.references import find_referenced

Path = tuple[str | int, ...]

# Whatever has none of these is plain, but for letters that fold to them.
_SUSPECT = re.compile(r"[.:@<&\[({]")
_OVERRIDE = re.compile("[\u202d\u202e]")
_URL = re.compile(
    r"(https?)://([a-z0-9.-]{1,253}(?::\d{1,5})?)"
    r"(?:/(?:[a-z0-9\-._~!$&'()*+,;=:@/?#]|%[0-9a-f]{2})*)?",
    re.IGNORECASE | re.ASCII,
)
_MAX_URL = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRules:
    """What the texts in a value may hold; without anything said, they are plain."""

    is_free: bool = False
    hosts: frozenset[str] = frozenset()
    schemes: frozenset[str] = frozenset({"https"})
    members: Mapping[str, TextRules] = field(default_factory=dict)
    others: TextRules | None = None
    items: TextRules | None = None

    def of_member(self, name: str) -> TextRules:
        """Return the rules of an object's member."""
        if self.is_free:
            return self
        return self.members.get(name) or self.others or PLAIN

    def of_items(self) -> TextRules:
        """Return the rules of an array's items."""
        return self if self.is_free else self.items or PLAIN


PLAIN = TextRules()


def read_rules(
    root: dict[str, Any], node: object, *, reached: set[int] | None = None
) -> TextRules:
    """Read the rules of a checked schema; `reached` gets the ids of what was read."""
    if not isinstance(node, dict):
        return PLAIN
    if reached is not None:
        reached.add(id(node))
    if "$ref" in node:
        behind = find_referenced(root, node["$ref"])
        if reached is not None:
            reached.add(id(behind))
        beside = {key: value for key, value in node.items() if key != "$ref"}
        whole = {**behind, **beside} if isinstance(behind, dict) else behind
        return read_rules(root, whole, reached=reached)
    return TextRules(
        is_free=node.get("x-text") == "any" or "enum" in node or "const" in node,
        hosts=frozenset(node.get("x-hosts", ())),
        schemes=frozenset(node.get("x-schemes", ("https",))),
        members={
            name: read_rules(root, declared, reached=reached)
            for name, declared in node.get("properties", {}).items()
        },
        others=read_rules(root, node.get("additionalProperties"), reached=reached),
        items=read_rules(root, node.get("items"), reached=reached),
    )


def find_faults(
    rules: TextRules, value: object, *, path: Path = ()
) -> list[tuple[Path, str]]:
    """Return where in a value a text holds what it may not, and what that is."""
    if rules.is_free:
        return []
    if isinstance(value, str):
        fault = _url_fault(rules, value) if rules.hosts else text_fault(value)
        return [(path, fault)] if fault else []
    found: list[tuple[Path, str]] = []
    if isinstance(value, dict):
        for name, inner in value.items():
            # A template can print the names of what a schema leaves open.
            if name not in rules.members and (fault := text_fault(name)):
                found.append(((*path, name), f"its name {fault}"))
            found += find_faults(rules.of_member(name), inner, path=(*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += find_faults(rules.of_items(), inner, path=(*path, index))
    return found


def texts_in(value: object) -> Iterator[str]:
    """Yield every text in a value."""
    if isinstance(value, str):
        yield value
    for inner in children(value):
        yield from texts_in(inner)


def text_fault(text: str) -> str:
    """Say what a plain text holds that it must not, or nothing."""
    folded = fold(text)
    if not _SUSPECT.search(folded):
        return ""
    if holds_markup(folded):
        return "must not hold HTML"
    link = next(links_in(folded), None)
    if link is None and _OVERRIDE.search(text):
        link = next(links_in(folded[::-1]), None)
    if link is not None:
        if link.replace(".", "").isdecimal():
            return "must not hold an IP address"
        if "@" in folded:
            return "must not hold an e-mail address or a link"
        return "must not hold a link"
    return "must not hold a link" if is_disguised_link(folded) else ""


def _url_fault(rules: TextRules, text: str) -> str:
    url = _URL.fullmatch(text) if len(text) <= _MAX_URL else None
    if url is None:
        return "must be a whole URL in ASCII, without credentials"
    if url[1].lower() not in rules.schemes:
        return f"must begin with {' or '.join(sorted(rules.schemes))}"
    host = url[2].lower()
    if host in rules.hosts:
        return ""
    labels = host.split(".")
    above = (".".join(["*", *labels[at:]]) for at in range(1, len(labels)))
    if all(labels) and not rules.hosts.isdisjoint(above):
        return ""
    return "must be at a host that the template allows"
