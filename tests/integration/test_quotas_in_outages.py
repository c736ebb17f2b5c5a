"""Two workers keep calling, and keep to the quota, whatever becomes of Valkey."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from uuid import uuid4

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as Disconnected

from benchmarks.figures import most_in_a_second
from devstack.folders import throw_away_folder
from devstack.programs import server_account
from devstack.valkey import running_valkey
from providers.quotas.allowances import allowance
from providers.quotas.booking import Booking
from providers.turns import Turn, Turns
from tenants.categories import Priority

RATE = 200.0
WORKERS = 2
BEGINS, HEALS, ENDS = 1.0, 2.5, 5.0


@pytest.fixture
def valkey() -> Iterator[Redis]:
    """Run a server of the test's own; a killed one stays away."""
    password = uuid4().hex
    with (
        throw_away_folder() as folder,
        running_valkey(
            folder=folder, account=server_account(), password=password
        ) as port,
        Redis(port=port, password=password, socket_timeout=10) as client,
    ):
        yield client


def kill(valkey: Redis) -> None:
    with suppress(Disconnected):
        valkey.execute_command("SHUTDOWN", "NOSAVE", "NOW")


def pause(valkey: Redis) -> None:
    valkey.client_pause(int((HEALS - BEGINS) * 1000), all=True)


def make_read_only(valkey: Redis) -> None:
    valkey.replicaof("127.0.0.1", 1)


def fill(valkey: Redis) -> None:
    valkey.config_set("maxmemory", "1")


def flush(valkey: Redis) -> None:
    valkey.flushall()


def heal(valkey: Redis) -> None:
    valkey.replicaof("NO", "ONE")
    valkey.config_set("maxmemory", "256mb")


def nothing(valkey: Redis) -> None:
    pass


def called(valkey: Redis, fault: Callable[..., None], mend: Callable[..., None]):
    """Call all the time, and return when, in seconds since the beginning."""
    known = valkey.get_connection_kwargs()
    url = f"redis://:{known['password']}@127.0.0.1:{known['port']}/0"
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
