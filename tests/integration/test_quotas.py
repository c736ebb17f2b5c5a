"""Slots booked in one book by several workers, and without it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from uuid import uuid4

import pytest
import uvloop
from django.conf import settings
from redis import Redis
from structlog.testing import capture_logs

from benchmarks.figures import most_in_a_second
from devstack.servers import free_port
from providers.quotas.allowances import Allowance, Limit, allowance
from providers.quotas.booking import Booked, Booking, OwnShare
from providers.turns import Turn, Turns
from tenants.categories import Priority

RATE = 500.0


@pytest.fixture
def valkey() -> Iterator[Redis]:
    with Redis.from_url(settings.REDIS_URL) as client:
        yield client


@pytest.fixture
def account(valkey: Redis) -> str:
    """Name an account that has been in use."""
    name = f"account-{uuid4().hex}"
    valkey.set(f"quota:{{{name}}}:known", 1, ex=60)
    return name


def of(
    account: str,
    priority: Priority = Priority.NORMAL,
    *others: Limit,
    rate: float = RATE,
) -> Allowance:
    return allowance(account, per_second=rate, priority=priority, others=others)


def booking_of(url: str = "") -> Booking:
    return Booking(url=url or settings.REDIS_URL, expected_workers=4)


def booked(
    *wishes: tuple[Allowance, int], members: int = 1, url: str = ""
) -> list[Booked]:
    """Book one wish after the other, the workers in turns."""

    async def book() -> list[Booked]:
        workers = [booking_of(url) for _ in range(members)]
        try:
            return [
                await workers[turn % members].book(wanted, number=number)
                for turn, (wanted, number) in enumerate(wishes)
            ]
        finally:
            for worker in workers:
                await worker.aclose()

    return asyncio.run(book())


def test_slots_of_all_workers_are_the_pace_apart(account: str) -> None:
    answers = booked(*[(of(account, rate=100.0), 25)] * 4, members=4)
    slots = [slot for answer in answers for slot in answer.slots]

    assert len(slots) >= 8
    # Each worker reads the server's clock for itself, and the answer takes a moment.
    assert min(after - before for before, after in pairwise(slots)) > 0.007


def test_slots_are_booked_a_moment_ahead_and_no_further(account: str) -> None:
    begun = time.monotonic()
    answers = booked(*[(of(account), 50)] * 5)
    took = time.monotonic() - begun

    last = max(slot for answer in answers for slot in answer.slots)
    assert last - begun < 0.11 + took
    assert len(answers[0].slots) >= 49
    waits = [answer.wait for answer in answers if not answer.slots]
    assert all(0 < wait < 0.2 for wait in waits)


def test_workers_share_what_is_ahead(account: str) -> None:
    normal = of(account)
    first, *_ = booked((normal, 50))
    again = booked(*[(normal, 50)] * 8, members=8)

    assert len(first.slots) > 40
    assert all(len(answer.slots) <= 25 for answer in again[1:])


def test_low_leaves_room_for_high_at_once(account: str) -> None:
    """Booked up by LOW, which may have 60 %, an account is free again in 60 ms."""
    low, high = of(account, Priority.LOW), of(account, Priority.HIGH)
    begun = time.monotonic()
    *_, answer = booked(*[(low, 50)] * 10, (high, 1))
    took = time.monotonic() - begun

    (slot,) = answer.slots
    assert slot - begun < 0.07 + took


def test_classes_that_starve_get_their_floors_and_high_the_rest(account: str) -> None:
    """HIGH may use all of an account, and does not while another has nothing."""
    counts = asyncio.run(saturate(account, *Priority, seconds=3.0, rate=200.0))

    total = sum(counts.values())
    assert total > 3 * 200 * 0.85
    assert counts[Priority.HIGH] > 0.6 * total
    assert counts[Priority.NORMAL] > 0.07 * total
    assert counts[Priority.LOW] > 0.03 * total


async def saturate(
    account: str, *priorities: Priority, seconds: float, rate: float
) -> Counter[Priority]:
    """Let a worker for each class ask for all that it can get; count their slots."""
    given: Counter[Priority] = Counter()
    begun = time.monotonic()

    async def take_all(priority: Priority) -> None:
        booking, wanted = booking_of(), of(account, priority, rate=rate)
        while time.monotonic() < begun + seconds:
            answer = await booking.book(wanted, number=50)
            given[priority] += len(answer.slots)
            await asyncio.sleep(answer.wait)
        await booking.aclose()

    await asyncio.gather(*map(take_all, priorities))
    return given


def test_high_alone_has_all_of_it_and_loses_no_second_to_a_single_normal(
    account: str,
) -> None:
    async def both() -> Counter[Priority]:
        high = asyncio.create_task(
            saturate(account, Priority.HIGH, seconds=2.0, rate=200.0)
        )
        await asyncio.sleep(1.0)
        one = booking_of()
        await one.book(of(account, rate=200.0), number=1)
        await one.aclose()
        return await high

    assert asyncio.run(both())[Priority.HIGH] > 2 * 200 * 0.9


def test_a_limit_that_refuses_costs_the_others_nothing(
    account: str, valkey: Redis
) -> None:
    country = Limit("+84", 0.1)
    first, second = booked(*[(of(account, Priority.NORMAL, country), 40)] * 2)

    assert (len(first.slots), len(second.slots)) == (1, 0)
    assert 5 < second.wait < 15
    before = valkey.get(f"quota:{{{account}}}:pace")
    booked((of(account, Priority.NORMAL, country), 1))
    # Or gone meanwhile, on a machine that is busy.
    assert valkey.get(f"quota:{{{account}}}:pace") in (before, None)


def test_slow_accounts_get_their_slot_too(account: str) -> None:
    slow = of(account, rate=0.5)
    first, second = booked(*[(slow, 10)] * 2)

    assert len(first.slots) == 1
    assert 1.5 < second.wait < 2.5


def test_a_book_that_was_lost_is_begun_behind_what_was_booked_in_it(
    account: str, valkey: Redis
) -> None:
    before, *_ = booked((of(account), 40))
    valkey.delete(*valkey.keys(f"quota:{{{account}}}:*"))

    refused, granted = booked((of(account), 1), (of(account, Priority.HIGH), 1))

    assert not refused.slots
    assert granted.slots[0] > before.slots[-1]


@pytest.mark.parametrize("seconds", [3, 9, 3600])
def test_a_clock_that_was_set_back_stops_nobody(
    account: str, valkey: Redis, seconds: int
) -> None:
    later = int((time.time() + seconds) * 1_000_000)
    booked((of(account), 1))
    valkey.set(f"quota:{{{account}}}:pace", later)

    (answer,) = booked((of(account), 1))

    assert len(answer.slots) == 1


def test_nothing_is_left_in_valkey_for_long(account: str, valkey: Redis) -> None:
    booked((of(account, Priority.LOW), 10))

    keys = valkey.keys(f"quota:{{{account}}}:*")
    assert len(keys) == 5
    lives = sorted(valkey.pttl(key) for key in keys)
    assert 0 < lives[0] <= lives[3] <= 10_000 < lives[4] <= 86_400_000


@pytest.mark.parametrize(
    "url", ["redis://127.0.0.1:{port}/0", "redis://nobody.invalid:6379/0"]
)
def test_without_valkey_a_worker_keeps_to_its_share(account: str, url: str) -> None:
    async def book_for_a_while() -> list[float]:
        booking = booking_of(url.format(port=free_port()))
        slots: list[float] = []
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            answer = await booking.book(of(account), number=50)
            slots += answer.slots
            await asyncio.sleep(answer.wait)
        await booking.aclose()
        return slots

    with capture_logs() as logs:
        slots = asyncio.run(book_for_a_while())

    assert len(slots) > 0.5 * RATE / 4
    assert most_in_a_second(slots) <= RATE / 4
    assert [line["event"] for line in logs] == ["quota_book_away"]


def test_ones_own_share_is_as_many_times_smaller_as_there_are_workers(
    account: str,
) -> None:
    """How many there are is known from before."""
    own, normal = OwnShare(), of(account)

    (slots,) = (own.book(normal, number=50, members=4, now=100.0).slots,)

    assert len(slots) == 13
    assert slots[1] - slots[0] == pytest.approx(4 / (RATE * 0.985))


def given(allowance_: Allowance, *, calls: int, workers: int = 1) -> list[float]:
    """Let workers wait for turns together; return when these came."""
    times: list[float] = []

    async def wait_for_all() -> None:
        bookings = [booking_of() for _ in range(workers)]
        all_turns = [Turns(50, patience=30.0, booking=each) for each in bookings]

        async def call(turns: Turns) -> None:
            assert await turns.take(allowance_.priority, allowance_) is Turn.GIVEN
            times.append(time.monotonic())
            turns.release()

        await asyncio.gather(
            *(call(all_turns[number % workers]) for number in range(calls))
        )
        for turns, booking in zip(all_turns, bookings, strict=True):
            await turns.aclose()
            await booking.aclose()

    # As consumers run: its timers go by whole milliseconds, and may be early.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(wait_for_all())
    return sorted(times)


def test_workers_together_never_call_more_often_in_any_second(account: str) -> None:
    times = given(of(account, rate=200.0), calls=500, workers=3)

    assert most_in_a_second(times) <= 204
    assert times[-1] - times[0] < 4


def test_who_was_refused_a_slot_asks_again_by_himself(account: str) -> None:
    """All wait, nothing else happens: only the line's own timer can wake it."""
    times = given(of(account, Priority.LOW, rate=50.0), calls=40)

    assert len(times) == 40


def test_slots_that_were_missed_are_not_made_good_at_once(account: str) -> None:
    """A worker that stood still for 200 ms has missed a hundred."""
    normal = of(account)

    async def stall() -> list[float]:
        booking = booking_of()
        turns, times = Turns(50, patience=30.0, booking=booking), []

        async def call() -> None:
            await turns.take(Priority.NORMAL, normal)
            times.append(time.monotonic())
            turns.release()

        calls = [asyncio.create_task(call()) for _ in range(200)]
        await asyncio.wait({calls[5]})
        time.sleep(0.2)  # noqa: ASYNC251
        stalled_until = time.monotonic()
        await asyncio.gather(*calls)
        await turns.aclose()
        await booking.aclose()
        return [at - stalled_until for at in times]

    after = asyncio.run(stall())

    assert sum(0 <= at < 0.005 for at in after) <= 15
