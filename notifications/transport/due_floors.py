"""Which lanes have a due row, and the dates under which nobody need look for one.

While an old snapshot is held somewhere, a poll steps over the index entries of all rows
that are long gone: after ten minutes of 2,000 rows a second that is most of a second. A
floor under due_at leaves them out. It begins at the first row that was due at the last
look and trails by two seconds; once a second by a minute, and once a minute there is
none. So a row that commits late is found a little later, and is never lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from foundation.statements import Cursor
from notifications.outbox import Lane
from providers.channels import Channel
from tenants.categories import Priority

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)

# LATERAL with ORDER BY and LIMIT stays one step into outbox_due for each class; an
# EXISTS or a min() may be planned as a join with the whole table. The second column is
# the statement's time, which is before what it sees: later commits are later than it.
LOOK = """
SELECT lane.priority, lane.channel, due.due_at, app_now() - %s::interval
  FROM unnest(%s::smallint[], %s::smallint[], %s::timestamptz[])
       lane(priority, channel, floor)
  LEFT JOIN LATERAL (
       SELECT o.due_at FROM outbox o
        WHERE o.priority = lane.priority AND o.priority >= 0
          AND o.channel = lane.channel
          AND o.due_at <= app_now() - %s::interval
          AND o.due_at >= lane.floor
        ORDER BY o.due_at LIMIT 1) due ON true
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """How far a floor stays behind the clock: mostly, from time to time, and when it
    is ignored."""

    near: timedelta = timedelta(seconds=2)
    far: timedelta = timedelta(seconds=60)
    far_every_seconds: float = 1.0
    ignored_every_seconds: float = 60.0


TRAIL = Trail()


@dataclass(slots=True)
class _Reached:
    """What the last look at a lane told, and when the next must look further back."""

    first: datetime = BEGINNING
    looked: datetime = BEGINNING
    far_from: float = 0.0
    ignored_from: float = 0.0


class DueFloors:
    """One poller's floors; with `overdue_by` it takes nothing that is due for less."""

    def __init__(
        self,
        lanes: Iterable[Lane],
        *,
        trail: Trail = TRAIL,
        overdue_by: timedelta = timedelta(0),
    ) -> None:
        self._reached = {lane: _Reached() for lane in lanes}
        self._trail = trail
        self._overdue_by = overdue_by

    def look(self, cursor: Cursor, *, only_high: bool = False) -> set[Lane]:
        """Tell which lanes have a due row; one question for all of them.

        Most polls of most lanes find nothing. What is told here raises the floors, so
        that a lane keeps its floor when it falls idle, and with a backlog too.
        """
        now = time.monotonic()
        lanes = [lane for lane in self._reached if lane.is_high or not only_high]
        cursor.execute(
            LOOK,
            [
                self._overdue_by,
                [lane.priority.value for lane in lanes],
                [lane.channel.value for lane in lanes],
                [self._floor_at(lane, now) for lane in lanes],
                self._overdue_by,
            ],
        )
        due = set()
        for priority, channel, first, looked in cursor.fetchall():
            lane = Lane(Priority(priority), Channel(channel))
            self._note(lane, now, first=first or looked, looked=looked)
            if first is not None:
                due.add(lane)
        return due

    def floor(self, lane: Lane) -> datetime:
        """Return the date from which to take rows, after a look."""
        return self._behind(lane, self._trail.near)

    def _floor_at(self, lane: Lane, now: float) -> datetime:
        reached = self._reached[lane]
        if now >= reached.ignored_from:
            return BEGINNING
        is_far = now >= reached.far_from
        return self._behind(lane, self._trail.far if is_far else self._trail.near)

    def _note(
        self, lane: Lane, now: float, *, first: datetime, looked: datetime
    ) -> None:
        reached = self._reached[lane]
        reached.first, reached.looked = first, looked
        if now >= reached.far_from:
            reached.far_from = now + self._trail.far_every_seconds
        if now >= reached.ignored_from:
            reached.ignored_from = now + self._trail.ignored_every_seconds

    def _behind(self, lane: Lane, trail: timedelta) -> datetime:
        reached = self._reached[lane]
        return min(reached.first, reached.looked - trail)
