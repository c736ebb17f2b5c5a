"""One JSON object a line, as every benchmark prints."""

from __future__ import annotations

import json
from typing import Any


def report(**fields: Any) -> None:
    """Print a line; figures keep three decimals."""
    print(json.dumps(_rounded(fields)), flush=True)


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return round(value, 3)
        case dict():
            return {name: _rounded(member) for name, member in value.items()}
        case list() | tuple():
            return [_rounded(item) for item in value]
    return value
