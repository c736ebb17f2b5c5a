"""Dates under which polls need not look, so that old index entries cost nothing.

While an old snapshot is held somewhere, every poll would step over all the index
entries of rows that are long gone (0.6 ms became 21.7 ms). A floor under due_at leaves
them out; it trails, and once a minute it is ignored, so that a row that commits late is
never lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from notifications.outbox import Lane

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_TRAIL = timedelta(seconds=60)
_IGNORED_EVERY_SECONDS = 60.0


class DueFloors:
    """One poller's floors."""

    def __init__(self, lanes: Iterable[Lane]) -> None:
        self._lanes = tuple(lanes)
        self._forget()

    def current(self) -> Mapping[Lane, datetime]:
        """Return the floor of every lane."""
        if time.monotonic() - self._since > _IGNORED_EVERY_SECONDS:
            self._forget()
        return self._floors

    def all_taken(self, lane: Lane, now: datetime) -> None:
        """Take note that nothing was due any more after a poll that committed."""
        self._floors[lane] = now - _TRAIL

    def _forget(self) -> None:
        self._floors = dict.fromkeys(self._lanes, _BEGINNING)
        self._since = time.monotonic()
