"""What is plain JSON, and small enough to be looked at."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

import orjson

MAX_BYTES = 32 * 1024
MAX_DEPTH = 20


def plainness_fault(value: object) -> str:
    """Say what keeps a value from being plain JSON of bounded size and depth."""
    try:
        size = len(orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS))
    except orjson.JSONEncodeError:
        return "not plain JSON"
    if size > MAX_BYTES:
        return f"more than {MAX_BYTES} bytes of JSON"
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        if not all(map(is_plain, level)):
            return "not plain JSON"
        level = [child for parent in level for child in children(parent)]
        if not level:
            return ""
    return f"nested more than {MAX_DEPTH} deep"


def is_plain(value: object) -> bool:
    """Say whether a value, its children aside, is exactly what JSON has."""
    if type(value) is float:
        return isfinite(value)
    return value is None or type(value) in {str, int, bool, dict, list}


def children(value: object) -> Iterable[object]:
    """Return what an object or array holds, and nothing for the rest."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def count_values(value: object) -> int:
    """Count a value and everything in it."""
    return 1 + sum(count_values(child) for child in children(value))
