"""The consumer: one event loop for provider calls, one thread for the database.

Claims keep a sliding window of calls in flight; outcomes are settled in batches. The
window bounds the memory, and a full one makes the loop stop claiming.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

import psycopg
import structlog
from django.db import (
    InterfaceError,
    OperationalError,
    connections,
    transaction,
)

from foundation.failpoints import failpoint
from foundation.statements import server_cursor
from notifications import outbox
from notifications.dispatch.claiming import ClaimedBatch, Outgoing, claim_batch
from notifications.dispatch.sending import send
from notifications.dispatch.settling import Settlement, settle_batch
from notifications.transitions import BrokenInvariant
from notifications.transport.base import Transport
from notifications.worker import Stop
from providers.gateway import Gateway

log = structlog.get_logger(__name__)
T = TypeVar("T")

SETTLE_BATCH = 500
SETTLE_AFTER_SECONDS = 0.02
SET_ASIDE = timedelta(minutes=10)
_LONGEST_OUTAGE_PAUSE = 5.0
# Django's words for it and the driver's own, which server-side cursors raise.
_AWAY = (
    OperationalError,
    InterfaceError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much at once, and how long to rest when there is little to do."""

    window: int = 500
    busy_pause: float = 0.005
    idle_pause: float = 0.2


class Consumer:
    """Claim, send and settle until asked to stop (or, once, until nothing is due)."""

    def __init__(
        self, *, transport: Transport, stop: Stop, pace: Pace, lease: timedelta
    ) -> None:
        self._transport = transport
        self._stop = stop
        self._pace = pace
        self._lease = lease
        self._gateway = Gateway()
        self._database = ThreadPoolExecutor(1, thread_name_prefix="database")
        self._outcomes: asyncio.Queue[Settlement] = asyncio.Queue()
        self._in_flight: set[asyncio.Task[None]] = set()
        self._settled_at = time.monotonic()

    async def run(self, *, once: bool = False) -> None:
        """Consume; returns when everything claimed has been settled."""
        settler = asyncio.create_task(self._settle_outcomes())
        try:
            await self._claim_until_stopped(once=once)
            await self._drain()
        finally:
            settler.cancel()
            await asyncio.gather(settler, return_exceptions=True)
            await self._gateway.aclose()
            await self._on_database(connections.close_all)
            self._database.shutdown()
            self._transport.close()

    def is_ready(self) -> bool:
        """Tell whether the database answered within the last half minute."""
        return time.monotonic() - self._settled_at < 30

    async def _claim_until_stopped(self, *, once: bool) -> None:
        pause = self._pace.busy_pause
        while not self._stop.asked:
            room = self._pace.window - len(self._in_flight) - self._outcomes.qsize()
            if room < max(self._pace.window // 10, 1):
                await self._wait_for_room()
                continue
            batch = await self._claim(room)
            self._start(batch)
            if batch.size == room:
                continue
            if batch.size == 0:
                if once and not self._in_flight and self._outcomes.empty():
                    return
                pause = min(pause * 2, self._pace.idle_pause)
            else:
                pause = self._pace.busy_pause
            await asyncio.sleep(pause)

    async def _claim(self, room: int) -> ClaimedBatch:
        try:
            return await self._through_outages(
                partial(claim_batch, self._transport, limit=room)
            )
        except BrokenInvariant as broken:
            # One impossible row must not stop its lane: it is put off, loudly.
            log.exception(
                "broken_invariant", deliveries=sorted(map(str, broken.delivery_ids))
            )
            await self._through_outages(partial(_set_aside, broken.delivery_ids))
            return ClaimedBatch(
                outgoing=[], unsendable=[], size=len(broken.delivery_ids)
            )

    def _start(self, batch: ClaimedBatch) -> None:
        for settlement in batch.unsendable:
            self._outcomes.put_nowait(settlement)
        for outgoing in batch.outgoing:
            task = asyncio.create_task(self._send(outgoing))
            self._in_flight.add(task)
            task.add_done_callback(self._in_flight.discard)

    async def _send(self, outgoing: Outgoing) -> None:
        settlement = await send(
            outgoing,
            gateway=self._gateway,
            lease=self._lease,
            spread=random.random(),  # noqa: S311 - jitter
        )
        failpoint("consumer.after_call")
        self._outcomes.put_nowait(settlement)

    async def _wait_for_room(self) -> None:
        if self._in_flight:
            await asyncio.wait(self._in_flight, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(self._pace.busy_pause)

    async def _settle_outcomes(self) -> None:
        while True:
            batch = [await self._outcomes.get()]
            await asyncio.sleep(SETTLE_AFTER_SECONDS)
            while len(batch) < SETTLE_BATCH and not self._outcomes.empty():
                batch.append(self._outcomes.get_nowait())
            await self._through_outages(partial(settle_batch, batch))
            self._transport.acknowledge([known.fence for known in batch])
            for _ in batch:
                self._outcomes.task_done()

    async def _drain(self) -> None:
        """Finish what is in flight; provider calls end by their own time limits."""
        while self._in_flight:
            await asyncio.wait(self._in_flight)
        await self._outcomes.join()

    async def _through_outages(self, work: Callable[[], T]) -> T:
        """Do database work, waiting out a database that is away.

        What was claimed meanwhile runs into its lease and is taken over; settling it
        late changes nothing and leaves a trace.
        """
        pause = 0.1
        while True:
            try:
                result = await self._on_database(work)
            except _AWAY as away:
                log.warning("database_unavailable", error=type(away).__name__)
                await self._on_database(connections.close_all)
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_OUTAGE_PAUSE)
            else:
                self._settled_at = time.monotonic()
                return result

    async def _on_database(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._database, work)


def _set_aside(delivery_ids: Collection[UUID]) -> None:
    with transaction.atomic(durable=True), server_cursor() as cursor:
        outbox.set_aside(cursor, delivery_ids, delay=SET_ASIDE)
