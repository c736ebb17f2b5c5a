"""The keywords of a schema that say what its texts may hold: are they used right?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from templates.links import is_open_suffix
from templates.text_rules import Path, read_rules

_KEYWORDS = ("x-hosts", "x-schemes", "x-text")
_URLS = frozenset({"iri", "iri-reference", "uri", "uri-reference"})
_ALWAYS_LINKS = _URLS | {"email", "hostname", "idn-email", "idn-hostname", "ipv4"}
_SCHEMES = (["https"], ["http"], ["http", "https"], ["https", "http"])
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(
    rf"(\*\.)?((?:{_LABEL}\.)+(?:[a-z]{{2,24}}|xn--[a-z0-9-]{{2,59}}))"
    r"(?::([1-9]\d{0,4}))?",
    re.ASCII,
)
# Members of these are schemas by a name of the author's, or no schemas at all.
_NAMED = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
_VALUES = frozenset({"const", "default", "enum", "examples"})


def find_misuse(schema: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with a checked schema's keywords, and where."""
    faults = [
        ((*path, keyword), message)
        for path, node in _nodes(schema)
        for keyword, message in _faults(node)
    ]
    yield from faults
    if faults:
        return
    reached: set[int] = set()
    read_rules(schema, schema, reached=reached)
    for path, node in _nodes(schema):
        if id(node) not in reached:
            for keyword in filter(node.__contains__, _KEYWORDS):
                yield (
                    (*path, keyword),
                    "only stands where properties, items, additionalProperties and "
                    "$ref lead",
                )


def _nodes(node: object, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    if isinstance(node, list):
        for index, inner in enumerate(node):
            yield from _nodes(inner, (*path, index))
    elif isinstance(node, dict):
        yield path, node
        for key, inner in node.items():
            if key in _NAMED and isinstance(inner, dict):
                for name, named in inner.items():
                    yield from _nodes(named, (*path, key, name))
            elif key not in _VALUES:
                yield from _nodes(inner, (*path, key))


def _faults(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "x-hosts" in node:
        yield from _hosts_faults(node)
    elif "x-schemes" in node:
        yield "x-schemes", "needs x-hosts beside it"
    if "x-schemes" in node and node["x-schemes"] not in _SCHEMES:
        yield "x-schemes", "must be a list of https, http or both"
    if "x-text" in node:
        yield from _text_faults(node)
    is_open = not {"x-hosts", "x-text", "enum", "const"} & node.keys()
    if is_open and (format_ := str(node.get("format"))) in _ALWAYS_LINKS:
        needed = "x-hosts" if format_ in _URLS else "x-text: any"
        yield "format", f"{format_} is refused unless {needed} stands beside it"


def _text_faults(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if node["x-text"] != "any":
        yield "x-text", "must be any"
    elif "x-hosts" in node:
        yield "x-text", "says the opposite of x-hosts"
    elif not _is_text(node):
        yield "x-text", "needs type string beside it"


def _hosts_faults(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    hosts = node["x-hosts"]
    if not (isinstance(hosts, list) and hosts and all(map(_is_host, hosts))):
        yield (
            "x-hosts",
            "must be a list of hosts in lower case, like example.com, "
            "*.example.com or example.com:8443",
        )
    if node.get("format") != "uri" or not _is_text(node):
        yield "x-hosts", "needs type string and format uri beside it"


def _is_host(value: object) -> bool:
    found = _HOST.fullmatch(value) if isinstance(value, str) else None
    if found is None or int(found[3] or 0) > 65_535:
        return False
    return not (found[1] and is_open_suffix(found[2]))


def _is_text(node: dict[str, Any]) -> bool:
    return node.get("type") in ("string", ["string", "null"], ["null", "string"])
