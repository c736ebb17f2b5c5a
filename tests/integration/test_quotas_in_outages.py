"""Two workers keep calling, and keep to the quota, whatever becomes of Valkey."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from redis import Redis

from benchmarks.figures import most_in_a_second
from providers.quotas.allowances import allowance
from providers.quotas.booking import Booking
from providers.turns import Turn, Turns
from tenants.categories import Priority
from tests.own_valkey import (
    PAUSE_SECONDS,
    fill,
    flush,
    heal,
    kill,
    make_read_only,
    nothing,
    pause,
    url_of,
)

RATE = 200.0
WORKERS = 2
BEGINS, ENDS = 1.0, 5.0
HEALS = BEGINS + PAUSE_SECONDS


def called(valkey: Redis, fault: Callable[..., None], mend: Callable[..., None]):
    """Call all the time, and return when, in seconds since the beginning."""
    url = url_of(valkey)
    wanted = allowance("account", per_second=RATE, priority=Priority.NORMAL)
    begun, times = time.monotonic(), []

    async def call_all_the_time(turns: Turns) -> None:
        while time.monotonic() < begun + ENDS:
            if await turns.take(Priority.NORMAL, wanted) is Turn.GIVEN:
                times.append(time.monotonic() - begun)
                turns.release()

    async def scenario() -> None:
        bookings = [Booking(url=url, expected_workers=4) for _ in range(WORKERS)]
        workers = [Turns(50, patience=30.0, booking=each) for each in bookings]
        calls = [
            asyncio.create_task(call_all_the_time(turns))
            for turns in workers
            for _ in range(20)
        ]
        for at, act in ((BEGINS, fault), (HEALS, mend)):
            await asyncio.sleep(begun + at - time.monotonic())
            await asyncio.to_thread(act, valkey)
        await asyncio.gather(*calls)
        for turns, booking in zip(workers, bookings, strict=True):
            await turns.aclose()
            await booking.aclose()

    asyncio.run(scenario())
    return times


@pytest.mark.parametrize(
    ("fault", "mend"),
    [(kill, nothing), (pause, nothing), (make_read_only, heal), (fill, heal)],
)
def test_without_valkey_calls_go_on_within_the_quota(
    valkey: Redis, fault: Callable[..., None], mend: Callable[..., None]
) -> None:
    """F-numbers of Valkey: killed, paused, read-only, full."""
    times = called(valkey, fault, mend)

    assert most_in_a_second(times) <= 1.05 * RATE
    during = [at for at in times if BEGINS + 0.5 <= at < HEALS]
    assert len(during) > 0.7 * RATE * (HEALS - BEGINS - 0.5)
    in_the_end = [at for at in times if ENDS - 1 <= at < ENDS]
    assert len(in_the_end) > 0.85 * RATE


def test_a_flushed_valkey_costs_a_moment(valkey: Redis) -> None:
    times = called(valkey, flush, nothing)

    assert most_in_a_second(times) <= 1.05 * RATE
    assert len([at for at in times if 1.5 <= at < 2.5]) > 0.9 * RATE
