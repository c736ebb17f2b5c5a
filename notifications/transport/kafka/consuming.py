"""Deliveries that the relay published, claimed by their records."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction

from foundation.statements import Cursor
from notifications.metrics import observe_stale_records
from notifications.outbox import Lane
from notifications.published import claim_published
from notifications.rejected_records import Rejection, keep_rejected, unknown_among
from notifications.transitions import Fence
from notifications.transport.base import Room, Subscription
from notifications.transport.kafka.lane_consumer import Fetched, LaneConsumer
from notifications.transport.kafka.topics import (
    TopicsUnavailable,
    group_protocol,
    topic,
)
from notifications.transport.postgres import PostgresTransport
from notifications.transport.records import Undecodable, decode
from notifications.transport.sharing import Sharing
from tenants.categories import Priority

# Whatever holds up relay or broker: HIGH that nobody took for a second is claimed
# straight from the outbox.
_OVERDUE = timedelta(seconds=1)
_LOOK_EVERY_SECONDS = 1.0
_JOIN_EVERY_SECONDS = 2.0

log = structlog.get_logger(__name__)


class KafkaTransport:
    """Consumes every lane in a group of its own, and claims what its records name."""

    is_resting = False

    def __init__(self, subscription: Subscription) -> None:
        self._lease = subscription.lease
        self._sharing = Sharing(subscription)
        self._subscribed = subscription.lanes
        self._lanes: dict[Lane, LaneConsumer] = {}
        self._protocol = ""
        self._join_from = 0.0
        self._direct = _direct(subscription)
        self._look_from = 0.0
        self._is_overdue = False

    def fetch(self, *, limit: int) -> bool:
        """Take over what has arrived; now and then look for overdue HIGH."""
        if not self._lanes and time.monotonic() >= self._join_from:
            self._join()
        for lane, consumer in self._lanes.items():
            consumer.fetch()
            if consumer.is_broken:
                log.error("consumer_broken", topic=topic(lane))
                consumer.close()
                self._lanes[lane] = self._open(lane)
        has_records = any(map(len, self._lanes.values()))
        # Turn about, so that neither keeps the other waiting.
        is_records_turn = self._is_overdue and has_records
        self._is_overdue = not is_records_turn and self._has_overdue(limit)
        return self._is_overdue or has_records

    def claim(self, cursor: Cursor, *, room: Room) -> list[Fence]:
        """Win the outbox rows that are overdue, or those whose records were fetched.

        Never both in one transaction, and those of all lanes by one statement: claims
        by record wait for each other's locks, which have one order only within it.
        """
        if self._direct is not None and self._is_overdue:
            return self._direct.claim(cursor, room=room)
        peeked: dict[Lane, Sequence[Fetched]] = {}

        def take(lane: Lane, most: int) -> int:
            peeked[lane] = self._lanes[lane].peek(most) if lane in self._lanes else []
            return len(peeked[lane])

        self._sharing.divide(room=room, take=take)
        return self._claim_peeked(cursor, peeked)

    def skip(self, delivery_ids: Collection[UUID]) -> None:
        """Claim no more by the records of these deliveries; the next claims take them
        off in their turn."""
        for lane in self._lanes.values():
            lane.skip(partial(_names_one_of, frozenset(delivery_ids)))

    def close(self) -> None:
        """Leave all groups."""
        for lane in self._lanes.values():
            lane.close()

    def _join(self) -> None:
        """Join all groups; a broker that is away is asked again in a while."""
        try:
            self._protocol = settings.KAFKA_GROUP_PROTOCOL or group_protocol()
        except TopicsUnavailable as unavailable:
            log.warning("broker_unreachable", reason=str(unavailable))
            self._join_from = time.monotonic() + _JOIN_EVERY_SECONDS
            return
        self._lanes = {lane: self._open(lane) for lane in self._subscribed}

    def _open(self, lane: Lane) -> LaneConsumer:
        return LaneConsumer(
            lane, protocol=self._protocol, instance=settings.KAFKA_INSTANCE
        )

    def _has_overdue(self, limit: int) -> bool:
        """Look for HIGH that nobody took; after nothing was found, not so soon."""
        if self._direct is None or time.monotonic() < self._look_from:
            return False
        found = self._direct.fetch(limit=limit)
        if not found:
            self._look_from = time.monotonic() + _LOOK_EVERY_SECONDS
        return found

    def _claim_peeked(
        self, cursor: Cursor, peeked: Mapping[Lane, Sequence[Fetched]]
    ) -> list[Fence]:
        wanted: dict[Fence, tuple[Lane, Fetched]] = {}
        rejected: list[Rejection] = []
        for lane, records in peeked.items():
            for record in records:
                if record.is_skipped:
                    continue
                try:
                    wanted[decode(record.octets).fence] = lane, record
                except Undecodable as undecodable:
                    rejected.append(_rejection(lane, record, reason=str(undecodable)))
        won = claim_published(cursor, list(wanted), lease=self._lease)
        lost = wanted.keys() - {Fence(each[0], each[1] - 1) for each in won}
        unknown = set(unknown_among(cursor, lost))
        rejected += [
            _rejection(*wanted[fence], reason="unknown_delivery") for fence in unknown
        ]
        keep_rejected(cursor, rejected)
        stale = Counter(wanted[fence][0] for fence in lost - unknown)
        # Undone, the claim leaves them where they are: first in line, until `skip`.
        transaction.on_commit(partial(self._done, peeked, stale))
        return won

    def _done(
        self, peeked: Mapping[Lane, Sequence[Fetched]], stale: Mapping[Lane, int]
    ) -> None:
        for lane, number in stale.items():
            observe_stale_records(**lane.keys, number=number)
        for lane, records in peeked.items():
            if records:
                self._lanes[lane].done(records)


def _direct(subscription: Subscription) -> PostgresTransport | None:
    if Priority.HIGH not in subscription.priorities:
        return None
    high = Subscription(
        channels=subscription.channels,
        priorities=(Priority.HIGH,),
        lease=subscription.lease,
    )
    return PostgresTransport(high, overdue_by=_OVERDUE)


def _names_one_of(delivery_ids: frozenset[UUID], record: Fetched) -> bool:
    try:
        return decode(record.octets).fence.delivery_id in delivery_ids
    except Undecodable:
        return False


def _rejection(lane: Lane, record: Fetched, *, reason: str) -> Rejection:
    return Rejection(
        topic=topic(lane),
        partition=record.partition,
        offset=record.offset,
        reason=reason,
        octets=record.octets,
    )
