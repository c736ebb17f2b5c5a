"""The relay: due outbox rows become records, and nothing is locked meanwhile.

Taken rows are dated a short lease ahead and committed; only then are they published.
Whatever becomes of relay, broker or record, the row is due again by itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.db import connections

from foundation.failpoints import failpoint
from foundation.statements import AWAY, server_cursor
from notifications import outbox
from notifications.doorbell import Listener
from notifications.metrics import observe_published
from notifications.outbox import Lane, Poll, Taken
from notifications.published import count_published, record_published
from notifications.relay.topic_watch import TopicWatch
from notifications.relay.window import MOST, Window
from notifications.transport.due_floors import BEGINNING, TRAIL, DueFloors, Trail
from notifications.transport.fair_shares import FairShares
from notifications.transport.kafka.publisher import Publisher
from notifications.worker import Stop
from providers.channels import Channel
from tenants.categories import Priority

log = structlog.get_logger(__name__)

BATCH = 500
_MEASURE_EVERY_SECONDS = 0.5
# A lane with due rows and no room: consumers may be about to run dry.
_MEASURE_FULL_EVERY_SECONDS = 0.1
# Whoever comes back is made use of within a second.
_LONGEST_PAUSE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates:
    """How far ahead a row is dated: while it is being published, and while its record
    waits for a consumer."""

    publish_lease: timedelta
    horizon: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long to rest after a round that was not full, and when nothing is due."""

    busy_pause: float = 0.01
    idle_pause: float = 0.1


class Relay:
    """Publishes one class until asked to stop; for one thread."""

    def __init__(
        self,
        *,
        priority: Priority,
        dates: Dates,
        pace: Pace,
        stop: Stop,
        trail: Trail = TRAIL,
    ) -> None:
        self._lanes = [Lane(priority, channel) for channel in Channel]
        self._dates = dates
        self._pace = pace
        self._stop = stop
        self._bell = Listener() if priority is Priority.HIGH else None
        self._floors = DueFloors(self._lanes, trail=trail)
        self._shares = FairShares()
        self._windows = {lane: Window() for lane in self._lanes}
        self._unclaimed_since = dict.fromkeys(self._lanes, BEGINNING)
        self._measured_at = float("-inf")
        self._is_full = False
        self._publisher = Publisher(patience=dates.publish_lease * 0.8)
        self._topics = TopicWatch(self._lanes, horizon=dates.horizon)
        self.heard_at = float("-inf")

    def run(self) -> None:
        """Publish through outages of database and broker."""
        self._publisher.warm_up(self._lanes)
        pause = self._pace.busy_pause
        while not self._stop.asked:
            try:
                pause = self._publish_and_rest(pause)
            except AWAY as away:
                log.warning("database_unavailable", error=type(away).__name__)
                connections.close_all()
                pause = _longer(pause)
                self._stop.wait(pause)
        self._publisher.close()
        connections.close_all()

    def _publish_and_rest(self, pause: float) -> float:
        """Do one round, and rest as it suggests; return how long that was."""
        number, wanted = self.publish_due()
        if number < wanted:
            pause = _longer(pause)
            self._wait_for_broker(pause)
        elif number == 0:
            pause = min(pause * 2, self._pace.idle_pause)
            self._sleep(pause)
        else:
            pause = self._pace.busy_pause
            if self._bell is not None:
                self._bell.forget()
            if number < BATCH:
                self._stop.wait(pause)
        return pause

    def _sleep(self, seconds: float) -> None:
        if self._bell is None:
            self._stop.wait(seconds)
        else:
            self._bell.sleep(seconds)

    def publish_due(self) -> tuple[int, int]:
        """Do one round; return how many records the broker has, of how many taken."""
        self._topics.look()
        self._measure()
        taken = self._take()
        failpoint("relay.after_take")
        wanted = sum(map(len, taken.values()))
        if not wanted:
            self.heard_at = time.monotonic()
            return 0, 0
        acknowledged = self._publisher.publish(taken)
        failpoint("relay.after_publish")
        with server_cursor() as cursor:
            record_published(cursor, acknowledged, horizon=self._dates.horizon)
        for lane, rows in taken.items():
            self._windows[lane].published(len(rows))
            observe_published(**lane.keys, number=len(rows))
        if acknowledged:
            self.heard_at = time.monotonic()
        return len(acknowledged), wanted

    def _take(self) -> dict[Lane, list[Taken]]:
        taken: dict[Lane, list[Taken]] = {}
        self._is_full = False
        with server_cursor() as cursor:
            for lane in sorted(self._floors.look(cursor)):
                room = min(self._windows[lane].room, BATCH)
                self._is_full = self._is_full or room == 0
                if lane not in self._topics.present or room == 0:
                    continue
                poll = Poll(
                    lane=lane,
                    floor=self._floors.floor(lane),
                    limit=room,
                    lease=self._dates.publish_lease,
                )
                rows, _ = self._shares.poll(cursor, poll, outbox.take)
                if rows:
                    taken[lane] = rows
        return taken

    def _measure(self) -> None:
        """Count what the consumers have not claimed yet."""
        now = time.monotonic()
        rest = _MEASURE_FULL_EVERY_SECONDS if self._is_full else _MEASURE_EVERY_SECONDS
        if now < self._measured_at + rest:
            return
        self._measured_at = now
        with server_cursor() as cursor:
            for lane, window in self._windows.items():
                unclaimed = count_published(
                    cursor,
                    lane,
                    horizon=self._dates.horizon,
                    at_most=MOST,
                    since=self._unclaimed_since[lane],
                )
                self._unclaimed_since[lane] = unclaimed.since
                window.measured(unclaimed.number, at=time.monotonic())

    def _wait_for_broker(self, pause: float) -> None:
        """Take nothing while it is away: consumers of HIGH find the rows due."""
        self._stop.wait(pause)
        while not self._stop.asked and not self._publisher.is_reachable():
            log.warning("broker_unreachable", lanes=len(self._lanes))
            self._stop.wait(pause)


def _longer(pause: float) -> float:
    """Double the rest after a failure, within bounds."""
    return min(max(pause * 2, 0.1), _LONGEST_PAUSE)
