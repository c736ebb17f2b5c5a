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


class NotPlain(ValueError):
    """The value is not plain JSON, or nested too deep."""


def plainness_fault(value: object) -> str:
    """Say what keeps a value from being plain JSON of bounded size and depth."""
    try:
        size = len(orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS))
    except orjson.JSONEncodeError:
        return "not plain JSON"
    if size > MAX_BYTES:
        return f"more than {MAX_BYTES} bytes of JSON"
    try:
        count = count_plain([value])
    except NotPlain as fault:
        return str(fault)
    return "" if count <= MAX_VALUES else f"more than {MAX_VALUES} values"


def count_plain(values: Iterable[object], *, levels: int = MAX_DEPTH) -> int:
    """Count values and all in them; raise NotPlain for anything that JSON cannot give,
    subclasses too.

    Every acceptance and every rendering does this: the tests are in order of use.
    """
    count = 0
    for value in values:
        count += 1
        kind = type(value)
        if kind is str or kind is int or kind is bool or value is None:
            continue
        if kind is dict or kind is list:
            if not levels:
                raise NotPlain(f"nested more than {MAX_DEPTH} deep")
            count += count_plain(children(value), levels=levels - 1)
        elif kind is not float or not isfinite(cast("float", value)):
            raise NotPlain("not plain JSON")
    return count


def children(value: object) -> Iterable[object]:
    """Return what an object or array holds, and nothing for the rest."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
