"""Due outbox rows taken straight from PostgreSQL: no broker, no relay."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from django.db import transaction

from foundation.statements import Cursor, server_cursor
from notifications.outbox import Lane, Poll, due_lanes, poll_and_claim
from notifications.transitions import Fence
from notifications.transport.base import Subscription
from providers.channels import Channel
from tenants.categories import Priority

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
# While an old snapshot is held somewhere, every poll would step over all the index
# entries of rows that are long gone (0.6 ms became 21.7 ms). A floor under due_at
# leaves them out; it trails, and once a minute it is ignored, so that a row that
# commits late is never lost.
_FLOOR_TRAILS = timedelta(seconds=60)
_FLOOR_IGNORED_EVERY_SECONDS = 60.0
# Beside HIGH, which is looked for all the time, the other classes gather for a while:
# a claim for a handful costs as much as one for a hundred.
_GATHER_SECONDS = 0.04
# LOW is never starved: a tenth of every batch is kept for it.
_LOW_SHARE = 10


class PostgresTransport:
    """Polls class by class, HIGH first, and claims what is due."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._lanes = [
            Lane(priority, channel)
            for priority in subscription.priorities
            for channel in subscription.channels
        ]
        self._serves_high = any(map(_is_high, self._lanes))
        self._due: set[Lane] = set()
        self._turn = 0
        self._others_from = 0.0
        self._forget_floors()

    def fetch(self, *, limit: int) -> bool:
        """Look which classes have due rows, so that only those are polled."""
        if time.monotonic() - self._floors_since > _FLOOR_IGNORED_EVERY_SECONDS:
            self._forget_floors()
        floors = self._floors
        if time.monotonic() < self._others_from:
            floors = {lane: floors[lane] for lane in floors if _is_high(lane)}
        with server_cursor() as cursor:
            self._due = due_lanes(cursor, floors)
        return bool(self._due)

    def claim(
        self, cursor: Cursor, *, room: Mapping[Channel, int], limit: int
    ) -> list[Fence]:
        """Claim due rows of every class that has some, the higher classes first."""
        claimed: list[Fence] = []
        left = dict(room)
        for priority in sorted(self._subscription.priorities):
            free = self._room_for(priority, limit - len(claimed))
            for channel in self._channels_in_turn():
                lane, most = Lane(priority, channel), min(free, left[channel])
                if most <= 0 or lane not in self._due:
                    continue
                taken = self._claim_lane(cursor, lane, most)
                claimed += taken
                free -= len(taken)
                left[channel] -= len(taken)
        self._turn += 1
        return claimed

    def acknowledge(self, fences: list[Fence]) -> None:
        """Do nothing: settling deleted or re-dated the row."""

    def close(self) -> None:
        """Do nothing: the connection is Django's."""

    def _room_for(self, priority: Priority, room: int) -> int:
        low_is_served = Priority.LOW in self._subscription.priorities
        if priority is Priority.LOW or not low_is_served:
            return room
        return room - min(max(room // _LOW_SHARE, 1), room - 1)

    def _channels_in_turn(self) -> Iterator[Channel]:
        """Begin with another channel each time, so that none fills every batch."""
        channels = self._subscription.channels
        first = self._turn % len(channels)
        yield from channels[first:]
        yield from channels[:first]

    def _forget_floors(self) -> None:
        self._floors = dict.fromkeys(self._lanes, _BEGINNING)
        self._floors_since = time.monotonic()

    def _claim_lane(self, cursor: Cursor, lane: Lane, room: int) -> list[Fence]:
        fences, now = poll_and_claim(
            cursor,
            Poll(
                lane=lane,
                floor=self._floors[lane],
                limit=room,
                lease=self._subscription.lease,
            ),
        )
        if len(fences) < room and not _is_high(lane) and self._serves_high:
            self._others_from = time.monotonic() + _GATHER_SECONDS
        if now is not None and len(fences) < room:
            # Everything due was taken: what is older than the trail is gone.
            # Not before the COMMIT: a claim that is undone leaves them all due.
            transaction.on_commit(
                partial(self._floors.__setitem__, lane, now - _FLOOR_TRAILS)
            )
        return fences


def _is_high(lane: Lane) -> bool:
    return lane.priority is Priority.HIGH
