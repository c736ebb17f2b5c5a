"""The consumer: one event loop for provider calls, one thread for the database.

Claims keep a sliding window of calls in flight; outcomes are settled in batches. The
window bounds the memory, and a full one makes the loop stop claiming.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from uuid import UUID

import structlog
from django.db import transaction

from foundation.failpoints import failpoint
from foundation.statements import AWAY, server_cursor
from notifications import outbox
from notifications.dispatch.claiming import (
    ClaimedBatch,
    ClaimFailed,
    Outgoing,
    claim_batch,
)
from notifications.dispatch.containment import contained
from notifications.dispatch.database_thread import DatabaseThread
from notifications.dispatch.flow import Flow, note
from notifications.dispatch.looking_up import look_up
from notifications.dispatch.sending import send
from notifications.dispatch.settling import (
    Settlement,
    observe_answers,
    settle_batch,
)
from notifications.dispatch.window import Window
from notifications.transitions import BrokenInvariant
from notifications.transport.base import Room, Subscription, Transport
from notifications.worker import Stop
from providers.gateway import Gateway

log = structlog.get_logger(__name__)

SETTLE_BATCH = 500
SETTLE_AFTER_SECONDS = 0.02
SET_ASIDE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much at once, and how long to rest when there is little to do.

    A claim for a handful costs as much as one for a hundred: after one that did not
    fill the room, work gathers for `busy_pause` seconds.
    """

    window: int = 500
    busy_pause: float = 0.02
    idle_pause: float = 0.2


class Consumer:
    """Claim, send and settle until asked to stop (or, once, until nothing is due)."""

    def __init__(
        self,
        *,
        transport: Transport,
        subscription: Subscription,
        stop: Stop,
        pace: Pace,
    ) -> None:
        self._transport = transport
        self._subscription = subscription
        self._stop = stop
        self._pace = pace
        self._gateway = Gateway(window=pace.window)
        self._flow = Flow(self._gateway)
        self._database = DatabaseThread(stop=stop)
        self._outcomes: asyncio.Queue[Settlement] = asyncio.Queue()
        self._calls: set[asyncio.Task[None]] = set()
        self._window = Window(pace.window, subscription=subscription)
        self._progress = asyncio.Event()
        # Claims of one delivery each that are left after an unforeseen error.
        self._careful = 0

    def is_ready(self) -> bool:
        """Tell whether the database answered within the last half minute."""
        return self._database.answered_within(timedelta(seconds=30))

    async def run(self, *, once: bool = False) -> None:
        """Consume; returns when everything claimed has been settled."""
        settler = asyncio.create_task(self._settle_outcomes())
        try:
            claims = asyncio.create_task(self._claim_until_stopped(once=once))
            # The settler ends by an error alone: nothing can be settled any more.
            await asyncio.wait({claims, settler}, return_when=asyncio.FIRST_COMPLETED)
            if settler.done():
                claims.cancel()
                settler.result()
            try:
                claims.result()
            finally:
                await self._drain(settler)
        finally:
            settler.cancel()
            await asyncio.gather(settler, return_exceptions=True)
            await self._gateway.aclose()
            await self._database.close()
            self._transport.close()

    async def _claim_until_stopped(self, *, once: bool) -> None:
        pause = self._pace.busy_pause
        while not self._stop.asked:
            was_idle = self._window.is_empty
            if self._window.is_full:
                await self._wait_for_progress()
                continue
            room = self._window.room(at_most=1 if self._careful else None)
            batch = await self._claim(room)
            self._start(batch)
            if batch.size == room.total:
                continue
            if batch.size == 0 and not batch.found:
                # Only a claim with all the room says that nothing at all is due.
                if once and was_idle and not self._transport.is_resting:
                    return
                pause = min(pause * 2, self._pace.idle_pause)
            else:
                pause = self._pace.busy_pause
            await asyncio.sleep(pause)

    async def _claim(self, room: Room) -> ClaimedBatch:
        """Claim through outages; put off, loudly, what cannot be claimed."""
        self._careful = max(self._careful - 1, 0)
        try:
            batch = await self._database.through_outages(
                partial(
                    claim_batch,
                    self._transport,
                    room=room,
                    health=self._gateway.health,
                ),
                patience=timedelta(0),
            )
        except BrokenInvariant as broken:
            log.exception("broken_invariant")
            return await self._set_aside(broken.delivery_ids)
        except ClaimFailed as failed:
            if len(failed.delivery_ids) == 1:
                return await self._set_aside(failed.delivery_ids)
            self._careful = len(failed.delivery_ids)
            return ClaimedBatch(size=room.total)
        return batch or ClaimedBatch()

    async def _set_aside(self, delivery_ids: Collection[UUID]) -> ClaimedBatch:
        await self._database.through_outages(
            partial(_set_aside, self._transport, delivery_ids), patience=timedelta(0)
        )
        return ClaimedBatch(size=len(delivery_ids))

    def _start(self, batch: ClaimedBatch) -> None:
        for settlement in batch.unsendable:
            self._window.take(settlement.lane)
            self._outcomes.put_nowait(settlement)
        for outgoing in batch.outgoing:
            self._window.take(outgoing.work.lane)
            call = asyncio.create_task(self._send(outgoing))
            self._calls.add(call)  # asyncio itself keeps no hold of it
            call.add_done_callback(self._calls.discard)

    async def _send(self, outgoing: Outgoing) -> None:
        lane = outgoing.work.lane
        with contained("send_failed", channel=lane.channel.key) as tried:
            settlement = await self._call(outgoing)
            failpoint("consumer.after_call")
            self._outcomes.put_nowait(settlement)
        if tried.error is not None:  # left to its lease, and no room lost
            self._window.release([lane])
            self._progress.set()

    async def _call(self, outgoing: Outgoing) -> Settlement:
        lease, until = self._subscription.lease, outgoing.work.begun.reconcile_until
        if until is not None:
            return await look_up(
                outgoing, until=until, gateway=self._gateway, lease=lease
            )
        return await send(
            outgoing,
            gateway=self._gateway,
            lease=lease,
            spread=random.random(),  # noqa: S311 - jitter
        )

    async def _settle_outcomes(self) -> None:
        while True:
            batch = [await self._outcomes.get()]
            await asyncio.sleep(SETTLE_AFTER_SECONDS)
            while len(batch) < SETTLE_BATCH and not self._outcomes.empty():
                batch.append(self._outcomes.get_nowait())
            observe_answers(batch)
            await self._settle(batch)
            await self._note_flow(batch)
            self._window.release([known.lane for known in batch])
            self._progress.set()

    async def _note_flow(self, batch: list[Settlement]) -> None:
        self._flow.see(batch)
        if lanes := self._flow.take():
            await self._database.through_outages(
                partial(note, lanes), patience=timedelta(0)
            )

    async def _settle(self, batch: list[Settlement]) -> None:
        """Settle; what cannot be settled is found by halving and left to its lease."""
        with contained("settle_failed", passing=AWAY, size=len(batch)) as tried:
            await self._database.through_outages(
                partial(settle_batch, batch), patience=self._subscription.lease
            )
        if tried.error is not None and len(batch) > 1:
            middle = len(batch) // 2
            await self._settle(batch[:middle])
            await self._settle(batch[middle:])

    async def _wait_for_progress(self) -> None:
        self._progress.clear()
        await self._progress.wait()

    async def _drain(self, settler: asyncio.Task[None]) -> None:
        """Finish what is in flight; provider calls end by their own time limits."""
        while not self._window.is_empty and not settler.done():
            waiting = asyncio.create_task(self._wait_for_progress())
            await asyncio.wait({waiting, settler}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        if settler.done():
            settler.result()


def _set_aside(transport: Transport, delivery_ids: Collection[UUID]) -> None:
    with transaction.atomic(durable=True), server_cursor() as cursor:
        outbox.set_aside(cursor, delivery_ids, delay=SET_ASIDE)
    transport.skip(delivery_ids)
