"""Dates under which polls need not look, so that old index entries cost nothing.

While an old snapshot is held somewhere, every poll would step over all the index
entries of rows that are long gone (0.6 ms became 21.7 ms). A floor under due_at leaves
them out; it trails, and once a minute it is ignored, so that a row that commits late is
never lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from foundation.database_clock import database_now
from foundation.statements import Cursor
from notifications.outbox import Lane, due_lanes

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_RAISED_EVERY_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """How far floors stay behind the clock, and how often they are ignored."""

    behind: timedelta = timedelta(seconds=60)
    ignored_every_seconds: float = 60.0


TRAIL = Trail()


class DueFloors:
    """One poller's floors; with `overdue_by` it takes nothing that is due for less."""

    def __init__(
        self,
        lanes: Iterable[Lane],
        *,
        trail: Trail,
        overdue_by: timedelta = timedelta(0),
    ) -> None:
        self._lanes = tuple(lanes)
        self._trail = trail
        self._overdue_by = overdue_by
        self._forget()

    def current(self) -> Mapping[Lane, datetime]:
        """Return the floor of every lane."""
        if time.monotonic() - self._since > self._trail.ignored_every_seconds:
            self._forget()
        return self._floors

    def look(self, cursor: Cursor, *, only_high: bool = False) -> set[Lane]:
        """Tell which lanes have a due row; raise the floors of those that have none.

        Otherwise a lane that falls idle would look without a floor from the next time
        that floors are ignored until it has work again.
        """
        floors = {
            lane: floor
            for lane, floor in self.current().items()
            if lane.is_high or not only_high
        }
        # Before the question: what is committed by then, the answer knows.
        now = database_now() if time.monotonic() >= self._raise_from else None
        due = due_lanes(cursor, floors, overdue_by=self._overdue_by)
        if now is not None:
            self._raise_from = time.monotonic() + _RAISED_EVERY_SECONDS
            for lane in floors.keys() - due:
                self.all_taken(lane, now)
        return due

    def all_taken(self, lane: Lane, now: datetime) -> None:
        """Take note that nothing was due any more after a poll that committed."""
        self._floors[lane] = now - self._overdue_by - self._trail.behind

    def _forget(self) -> None:
        self._floors = dict.fromkeys(self._lanes, _BEGINNING)
        self._since = time.monotonic()
        self._raise_from = self._since
