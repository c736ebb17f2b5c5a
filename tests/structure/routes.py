"""The routes of the API as the URL configuration has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("get", "post", "put", "patch", "delete")
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Route:
    """A path below /v1/ and the view that serves it."""

    path: str
    view: type[Any] | None

    @property
    def methods(self) -> set[str]:
        return {method for method in METHODS if hasattr(self.view, method)}


def api_routes() -> list[Route]:
    """List every route below /v1/; a view that is no class is None."""
    return [
        Route("/" + _PARAMETER.sub(r"{\1}", path), getattr(view, "cls", None))
        for path, view in _walk("", get_resolver().url_patterns)
        if path.startswith("v1/")
    ]


def _walk(
    prefix: str, patterns: list[URLPattern | URLResolver]
) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(path, pattern.url_patterns)
        else:
            yield path, pattern.callback
