"""What is plain JSON, and small enough to be looked at."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import cast

import orjson

MAX_BYTES = 32 * 1024
MAX_DEPTH = 20
# What a template does with a list or object as a whole takes time by its length that
# the engine's fuel does not pay for.
MAX_VALUES = 2_000


def plainness_fault(value: object) -> str:
    """Say what keeps a value from being plain JSON of bounded size and depth."""
    try:
        size = len(orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS))
    except orjson.JSONEncodeError:
        return "not plain JSON"
    if size > MAX_BYTES:
        return f"more than {MAX_BYTES} bytes of JSON"
    count, level = 0, [value]
    for _ in range(MAX_DEPTH + 1):
        if not all(map(is_plain, level)):
            return "not plain JSON"
        count += len(level)
        level = [child for parent in level for child in children(parent)]
        if not level:
            return "" if count <= MAX_VALUES else f"more than {MAX_VALUES} values"
    return f"nested more than {MAX_DEPTH} deep"


def refuse_objects(values: Iterable[object]) -> None:
    """Raise TypeError unless all is exactly what JSON gives, no subclasses.

    Rendering does this for every message: six times faster than asking is_plain.
    """
    for value in values:
        kind = type(value)
        if kind is str or kind is int or kind is bool or value is None:
            continue
        if kind is dict or kind is list:
            refuse_objects(children(value))
        elif kind is not float or not isfinite(cast("float", value)):
            raise TypeError("variables must be plain JSON")


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
