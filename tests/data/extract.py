"""Cut out of the vendors' documents what the stubs are judged by.

    python tests/data/extract.py twilio_messages twilio_api_v2010.json
    python tests/data/extract.py fcm_send fcm.v1.json

writes the extract beside this file; --check compares it with what lies there. All of
`document` stands where it stands in the source, word for word: an operation, and
whatever is referred to from there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

FOLDER = Path(__file__).resolve().parent
Place: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """A document that somebody published, and the places of it that are wanted."""

    source: str
    sha256: str
    places: tuple[Place, ...]
    place_of: Callable[[str], Place]


_MESSAGES = ("paths", "/2010-04-01/Accounts/{AccountSid}/Messages.json")
EXTRACTS = {
    "twilio_messages": Extract(
        source=(
            "spec/json/twilio_api_v2010.json of github.com/twilio/twilio-oai at commit"
            " d50069b (2026-04-14)"
        ),
        sha256="99cae87a6bb1725f71363364cbd30282a13140374b2d5f9bdd5bdfa5d4c8a6d7",
        places=(
            *[("openapi",), ("info",), ("components", "securitySchemes")],
            *[(*_MESSAGES, each) for each in ("servers", "post", "get")],
        ),
        place_of=lambda reference: tuple(reference.removeprefix("#/").split("/")),
    ),
    "fcm_send": Extract(
        source=(
            "googleapiclient/discovery_cache/documents/fcm.v1.json of"
            " google-api-python-client 2.202.0 (revision 20261023)"
        ),
        sha256="5af8eff795b9c5c29a250494e4996980ccc982938c863109d614389a591aa3f9",
        places=(
            *[("id",), ("revision",), ("baseUrl",)],
            ("resources", "projects", "resources", "messages", "methods", "send"),
        ),
        place_of=lambda reference: ("schemas", reference),
    ),
}


def read_extract(name: str) -> dict[str, Any]:
    """Return the part of a vendor's document that lies here."""
    content = json.loads((FOLDER / f"{name}.json").read_text())
    document: dict[str, Any] = content["document"]
    return document


def write_extract(document: dict[str, Any], extract: Extract) -> str:
    """Return the text of an extract; the order is that of the document."""
    content = {
        "source": extract.source,
        "sha256": extract.sha256,
        "document": _cut(document, _reachable(document, extract)),
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _reachable(document: dict[str, Any], extract: Extract) -> set[Place]:
    waiting, reached = list(extract.places), set()
    while waiting:
        place = waiting.pop()
        if place not in reached:
            reached.add(place)
            references = _references(_look_up(document, place))
            waiting += [extract.place_of(reference) for reference in references]
    return reached


def _look_up(node: Any, place: Place) -> Any:
    for key in place:
        node = node[key]
    return node


def _references(node: Any) -> Iterator[str]:
    for key, child in node.items() if isinstance(node, dict) else ():
        if key == "$ref" and isinstance(child, str):
            yield child
        yield from _references(child)
    for child in node if isinstance(node, list) else ():
        yield from _references(child)


def _cut(node: Any, wanted: set[Place]) -> Any:
    """Return a node without what is not wanted of it; () stands for all of it."""
    if () in wanted:
        return node
    rest_of: dict[str, set[Place]] = {}
    for key, *rest in wanted:
        rest_of.setdefault(key, set()).add(tuple(rest))
    return {key: _cut(node[key], rest_of[key]) for key in node if key in rest_of}


def main() -> None:
    """Write an extract, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=EXTRACTS)
    parser.add_argument("source", type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    extract, target = EXTRACTS[given.name], FOLDER / f"{given.name}.json"
    content = given.source.read_bytes()
    if hashlib.sha256(content).hexdigest() != extract.sha256:
        sys.exit(f"{given.source} is another version than EXTRACTS names")
    text = write_extract(json.loads(content), extract)
    if not given.check:
        target.write_text(text)
    elif target.read_text() != text:
        sys.exit(f"{target} is not the extract of {given.source}")


if __name__ == "__main__":
    main()
