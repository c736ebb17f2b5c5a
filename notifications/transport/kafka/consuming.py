"""Deliveries that the relay published, claimed by their records."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

import structlog
from django.conf import settings
from django.db import transaction

from foundation.statements import Cursor
from notifications.metrics import observe_stale_records
from notifications.outbox import Lane
from notifications.published import claim_published
from notifications.rejected_records import Rejection, keep_rejected, unknown_among
from notifications.transitions import Fence
from notifications.transport.base import Subscription
from notifications.transport.kafka.lane_consumer import Fetched, LaneConsumer
from notifications.transport.kafka.topics import (
    TopicsUnavailable,
    group_protocol,
    topic,
)
from notifications.transport.postgres import PostgresTransport
from notifications.transport.records import Undecodable, decode
from notifications.transport.sharing import Sharing
from providers.channels import Channel
from tenants.categories import Priority

# Whatever holds up relay or broker: HIGH that nobody took for a second is claimed
# straight from the outbox.
_OVERDUE = timedelta(seconds=1)
_LOOK_EVERY_SECONDS = 1.0
_JOIN_EVERY_SECONDS = 5.0

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
        if self._direct is not None and time.monotonic() >= self._look_from:
            self._is_overdue = self._direct.fetch(limit=limit)
            if not self._is_overdue:
                self._look_from = time.monotonic() + _LOOK_EVERY_SECONDS
        return self._is_overdue or any(map(len, self._lanes.values()))

    def claim(
        self, cursor: Cursor, *, room: Mapping[Channel, int], limit: int
    ) -> list[Fence]:
        """Win the outbox rows whose records were fetched."""
        claimed: list[Fence] = []
        if self._direct is not None and self._is_overdue:
            half = {channel: (free + 1) // 2 for channel, free in room.items()}
            claimed += self._direct.claim(cursor, room=half, limit=(limit + 1) // 2)
            room = {channel: free - half[channel] for channel, free in room.items()}

        def take(lane: Lane, most: int) -> int:
            fetched = self._lanes.get(lane)
            fences = self._claim_lane(cursor, fetched, most) if fetched else []
            claimed.extend(fences)
            return len(fences)

        self._sharing.divide(room=room, limit=limit - len(claimed), take=take)
        return claimed

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

    def _claim_lane(self, cursor: Cursor, lane: LaneConsumer, most: int) -> list[Fence]:
        records = lane.peek(most)
        if not records:
            return []
        wanted: dict[Fence, Fetched] = {}
        rejected: list[Rejection] = []
        for record in records:
            try:
                wanted[decode(record.octets).fence] = record
            except Undecodable as undecodable:
                rejected.append(_rejection(lane, record, reason=str(undecodable)))
        won = claim_published(cursor, list(wanted), lease=self._lease)
        lost = wanted.keys() - {Fence(each[0], each[1] - 1) for each in won}
        rejected += [
            _rejection(lane, wanted[fence], reason="unknown_delivery")
            for fence in unknown_among(cursor, lost)
        ]
        keep_rejected(cursor, rejected)
        observe_stale_records(**lane.lane.keys, number=len(lost))
        # Undone, the claim leaves them where they are: first in line.
        transaction.on_commit(partial(lane.done, records))
        return won


def _direct(subscription: Subscription) -> PostgresTransport | None:
    if Priority.HIGH not in subscription.priorities:
        return None
    high = Subscription(
        channels=subscription.channels,
        priorities=(Priority.HIGH,),
        lease=subscription.lease,
    )
    return PostgresTransport(high, overdue_by=_OVERDUE)


def _rejection(lane: LaneConsumer, record: Fetched, *, reason: str) -> Rejection:
    return Rejection(
        topic=topic(lane.lane),
        partition=record.partition,
        offset=record.offset,
        reason=reason,
        octets=record.octets,
    )
