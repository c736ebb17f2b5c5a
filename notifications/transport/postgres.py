"""Due outbox rows taken straight from PostgreSQL: no broker, no relay."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from foundation.statements import Cursor
from notifications.outbox import Poll, poll_and_claim
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
# LOW is never starved: a tenth of every batch is kept for it.
_LOW_SHARE = 10


class PostgresTransport:
    """Polls class by class, HIGH first, and claims what is due."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._turn = 0
        self._floors: dict[tuple[Priority, Channel], datetime] = {}
        self._floors_since = time.monotonic()

    def fetch(self, *, limit: int) -> None:
        """Do nothing: the work is already where it is claimed."""

    def claim(self, cursor: Cursor, *, limit: int) -> list[Fence]:
        """Claim due rows of every class subscribed to, the higher classes first."""
        if time.monotonic() - self._floors_since > _FLOOR_IGNORED_EVERY_SECONDS:
            self._floors.clear()
            self._floors_since = time.monotonic()
        claimed: list[Fence] = []
        for priority in sorted(self._subscription.priorities):
            room = self._room_for(priority, limit - len(claimed))
            for channel in self._channels_in_turn():
                if room <= 0:
                    break
                taken = self._claim_class(cursor, priority, channel, room)
                claimed += taken
                room -= len(taken)
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
        return room - max(room // _LOW_SHARE, 1)

    def _channels_in_turn(self) -> Iterator[Channel]:
        """Begin with another channel each time, so that none fills every batch."""
        channels = self._subscription.channels
        first = self._turn % len(channels)
        yield from channels[first:]
        yield from channels[:first]

    def _claim_class(
        self, cursor: Cursor, priority: Priority, channel: Channel, room: int
    ) -> list[Fence]:
        lane = (priority, channel)
        fences, now = poll_and_claim(
            cursor,
            Poll(
                priority=priority,
                channel=channel,
                floor=self._floors.get(lane, _BEGINNING),
                limit=room,
                lease=self._subscription.lease,
            ),
        )
        if now is not None and len(fences) < room:
            # Everything due was taken: what is older than the trail is gone.
            self._floors[lane] = now - _FLOOR_TRAILS
        return fences
