"""Due outbox rows taken straight from PostgreSQL: no broker, no relay."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from django.db import transaction

from foundation.statements import Cursor, server_cursor
from notifications.outbox import Lane, Poll, poll_and_claim
from notifications.transitions import Fence
from notifications.transport.base import Room, Subscription
from notifications.transport.due_floors import TRAIL, DueFloors, Trail
from notifications.transport.fair_shares import FairShares
from notifications.transport.sharing import Sharing

# Beside HIGH, which is looked for all the time, the other classes gather for a while:
# a claim for a handful costs as much as one for a hundred.
_GATHER_SECONDS = 0.04


class PostgresTransport:
    """Polls class by class, HIGH first, and claims what is due.

    With an `overdue_by` it leaves alone what is not yet due for that long.
    """

    def __init__(
        self,
        subscription: Subscription,
        *,
        overdue_by: timedelta = timedelta(0),
        trail: Trail = TRAIL,
    ) -> None:
        self._lease = subscription.lease
        self._overdue_by = overdue_by
        self._sharing = Sharing(subscription)
        self._floors = DueFloors(subscription.lanes, trail=trail, overdue_by=overdue_by)
        self._shares = FairShares()
        self._serves_high = any(lane.is_high for lane in subscription.lanes)
        self._due: set[Lane] = set()
        self._others_from = 0.0
        self.is_resting = False

    def fetch(self, *, limit: int) -> bool:
        """Look which classes have due rows, so that only those are polled."""
        self.is_resting = time.monotonic() < self._others_from
        with server_cursor() as cursor:
            self._due = self._floors.look(cursor, only_high=self.is_resting)
        return bool(self._due)

    def claim(self, cursor: Cursor, *, room: Room) -> list[Fence]:
        """Claim due rows of every class that has some, the higher classes first."""
        claimed: list[Fence] = []

        def take(lane: Lane, most: int) -> int:
            fences = self._claim_lane(cursor, lane, most) if lane in self._due else []
            claimed.extend(fences)
            return len(fences)

        self._sharing.divide(room=room, take=take)
        return claimed

    def skip(self, delivery_ids: Collection[UUID]) -> None:
        """Do nothing: a later date is all it takes."""

    def close(self) -> None:
        """Do nothing: the connection is Django's."""

    def _claim_lane(self, cursor: Cursor, lane: Lane, room: int) -> list[Fence]:
        poll = Poll(
            lane=lane,
            floor=self._floors.floor(lane),
            limit=room,
            lease=self._lease,
            overdue_by=self._overdue_by,
        )
        taken, _ = self._shares.poll(cursor, poll, poll_and_claim)
        others = self._serves_high and not lane.is_high
        if others and 0 < len(taken) < room:
            # Not before the COMMIT: a claim that is undone leaves them all due.
            transaction.on_commit(self._let_others_gather)
        return [row.fence for row in taken]

    def _let_others_gather(self) -> None:
        self._others_from = time.monotonic() + _GATHER_SECONDS
