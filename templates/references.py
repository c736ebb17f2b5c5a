"""References of a schema to its own parts."""

from __future__ import annotations

from typing import Any


class ReferenceRefused(ValueError):
    """A reference must lead into the schema itself (#/…), and not in a circle."""


def find_referenced(root: dict[str, Any], reference: str) -> Any:
    """Return what a reference like `#/$defs/name` names; raise ReferenceRefused."""
    node: Any = root
    start, *steps = reference.split("/")
    if start != "#" or not steps:
        raise ReferenceRefused
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or name not in node:
            raise ReferenceRefused
        node = node[name]
    return node
