"""Contain what nobody foresaw: one message must not take the others down."""

from __future__ import annotations

from types import TracebackType

import structlog

log = structlog.get_logger(__name__)


class Containment:
    """A block whose unforeseen error is logged and kept; who comes after it asks.

    A class, and not a generator: every message passes through three of them.
    """

    __slots__ = ("_event", "_fields", "_passing", "error")

    def __init__(
        self, event: str, *, passing: tuple[type[Exception], ...], **fields: object
    ) -> None:
        self._event = event
        self._passing = passing
        self._fields = fields
        self.error: Exception | None = None

    def __enter__(self) -> Containment:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception) or isinstance(error, self._passing):
            return False
        log.error(self._event, exc_info=error, **self._fields)
        self.error = error
        return True


def contained(
    event: str, *, passing: tuple[type[Exception], ...] = (), **fields: object
) -> Containment:
    """Log an unforeseen error and go on behind the block; let the `passing` ones be."""
    return Containment(event, passing=passing, **fields)
