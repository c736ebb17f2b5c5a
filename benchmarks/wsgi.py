"""Django under granian, with every answer saying which server gave it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.serving import HEADER
from config.wsgi import application as django

_identity = (HEADER, f"{os.environ['BENCHMARK_IDENTITY']}-{os.getpid()}")


def application(
    environ: dict[str, Any], start_response: Callable[..., Any]
) -> Iterable[bytes]:
    """Answer with the identity that this run gave its server, and the worker's pid."""

    def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
        return start_response(status, [*headers, _identity], *rest)

    return django(environ, start)
