"""One procrastinate job per delivery: the application and its job.

The job runs on the worker's own loop. With the statements in threads of their own,
`delivering.deliver` as it is, a delivery took a fifth more of the processor.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from django.conf import settings
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connections
from procrastinate import App, JobContext, PsycopgConnector
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from benchmarks.baselines.task_per_delivery.claim import (
    BEGIN,
    begin_parameters,
    work_of,
)
from benchmarks.baselines.task_per_delivery.delivering import prepare
from benchmarks.baselines.task_per_delivery.settlement import (
    SETTLE_AS_SENT,
    settle_parameters,
)
from notifications.dispatch.claiming import Outgoing
from notifications.dispatch.sending import send
from notifications.dispatch.settling import Settlement, settle_batch
from notifications.statuses import DeliveryStatus
from providers.gateway import Gateway

P = ParamSpec("P")
T = TypeVar("T")

SCHEMA = "procrastinate"
TASK = "deliver"

Pool = AsyncConnectionPool[AsyncConnection[tuple[Any, ...]]]
app = App(connector=PsycopgConnector())


def make_pool(database: str, *, size: int) -> Pool:
    """Make the pool that procrastinate and the deliveries share.

    Every statement of either is a transaction; psycopg prepares what it sees twice.
    """
    return AsyncConnectionPool(
        database,
        min_size=size,
        max_size=size,
        open=False,
        configure=_commit_every_statement,
        kwargs={
            "prepare_threshold": 1,
            "options": f"-c search_path={SCHEMA},public",
        },
    )


async def _commit_every_statement(connection: AsyncConnection) -> None:
    await connection.set_autocommit(True)


@app.task(name=TASK, pass_context=True)
async def deliver_one(context: JobContext, delivery_id: str) -> None:
    """Deliver with what the worker has given to all jobs."""
    known = context.additional_context
    await deliver(UUID(delivery_id), pool=known["pool"], gateway=known["gateway"])


async def deliver(delivery_id: UUID, *, pool: Pool, gateway: Gateway) -> None:
    """Send a delivery that is due, and settle it; do nothing if it is not."""
    claimed_at = time.monotonic()
    async with (
        pool.connection() as connection,
        connection.cursor(binary=True) as cursor,
    ):
        await cursor.execute(BEGIN, begin_parameters(delivery_id))
        row = await cursor.fetchone()
    if row is None:
        return
    prepared = await _prepare(row, claimed_at=claimed_at)
    settlement = (
        await send(prepared, gateway=gateway, lease=settings.CLAIM_LEASE, spread=0.5)
        if isinstance(prepared, Outgoing)
        else prepared
    )
    if not await _settled_as_sent(pool, settlement):
        await asyncio.to_thread(_apart, settle_batch, [settlement])


async def _prepare(row: tuple[Any, ...], *, claimed_at: float) -> Outgoing | Settlement:
    """Prepare on the loop, if the process remembers all that it takes."""
    try:
        return _prepare_now(row, claimed_at)
    except SynchronousOnlyOperation:  # Django was about to ask the database
        return await asyncio.to_thread(_apart, _prepare_now, row, claimed_at)


def _prepare_now(row: tuple[Any, ...], claimed_at: float) -> Outgoing | Settlement:
    return prepare(work_of(row), claimed_at=claimed_at)


def _apart(work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Do what is rare by a connection of Django's that nobody keeps."""
    try:
        return work(*arguments, **options)
    finally:
        connections.close_all()


async def _settled_as_sent(pool: Pool, settlement: Settlement) -> bool:
    """Settle what was accepted and is still ours; tell whether it was."""
    if settlement.step.status is not DeliveryStatus.SENT:
        return False
    async with pool.connection() as connection, connection.cursor() as cursor:
        await cursor.execute(SETTLE_AS_SENT, settle_parameters(settlement))
        return cursor.rowcount == 1
