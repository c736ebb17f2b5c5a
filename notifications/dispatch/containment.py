"""Contain what nobody foresaw: one message must not take the others down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Containment:
    """What was contained, None if all went well."""

    error: Exception | None = None


@contextmanager
def contained(
    event: str, *, passing: tuple[type[Exception], ...] = (), **fields: object
) -> Iterator[Containment]:
    """Log an unforeseen error and go on behind the block, which asks what it was."""
    containment = Containment()
    try:
        yield containment
    except passing:
        raise
    except Exception as error:  # the one place that may: see the module
        log.exception(event, **fields)
        containment.error = error
