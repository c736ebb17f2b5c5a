"""Links that stand in a message and in nothing it was made of. No Django here.

Each of two variables may be harmless, and both together a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape

from templates.links import GAP, fold, is_open_suffix, links_in
from templates.parts import Kind

_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_STATEMENT = re.compile(r"\{%.*?%\}", re.DOTALL)
_PRINT = re.compile(r"\{\{.*?\}\}", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLinks:
    """The hosts that a template's text leads to by itself; it may leave the beginning
    of one to a variable (`endings`) where it says whose it is."""

    hosts: frozenset[str]
    endings: tuple[str, ...]

    def holds(self, host: str) -> bool:
        """Say whether the template's author wrote this host."""
        return host in self.hosts or host.endswith(self.endings)


def read_own_links(text: str, *, kind: Kind) -> OwnLinks:
    """Read what a template's text leads to, whatever its variables hold."""
    printed = _PRINT.sub(GAP, _COMMENT.sub("", text))
    ways = (text, _STATEMENT.sub("", printed), _STATEMENT.sub(" ", printed))
    hosts = frozenset(host for way in ways for host in links_in(_seen(way, kind)))
    endings = {host.rpartition(GAP)[2] for host in hosts if GAP in host}
    return OwnLinks(
        hosts=hosts,
        endings=tuple(
            ending
            for ending in endings
            if ending.startswith(".") and not is_open_suffix(ending[1:])
        ),
    )


def has_joined_link(
    text: str, *, kind: Kind, own: OwnLinks, given: Iterable[str]
) -> bool:
    """Say whether a message leads where neither its template's text does nor any text
    that it was given."""
    joined = {host for host in links_in(_seen(text, kind)) if not own.holds(host)}
    for each in given if joined else ():
        joined.difference_update(links_in(fold(each)))
    return bool(joined)


def _seen(text: str, kind: Kind) -> str:
    return fold(unescape(text) if kind is Kind.HTML else text)
