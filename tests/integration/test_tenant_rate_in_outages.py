"""Without Valkey nobody waits for it, and nobody is refused who keeps to the rate."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from redis import Redis

from tenants.request_rate import rate as request_rate
from tenants.request_rate.buckets import SECONDS_HELD, Buckets
from tests.acme import run_together
from tests.own_valkey import (
    fill,
    heal,
    kill,
    make_read_only,
    nothing,
    pause,
    url_of,
)

RATE, PROCESSES = 200, 2
DEADLINE_SECONDS = 10.0
FAULTS = pytest.mark.parametrize("fault", [kill, pause, make_read_only, fill])


@pytest.fixture
def buckets(valkey: Redis) -> Iterator[Buckets]:
    own = Buckets(url=url_of(valkey), expected_processes=PROCESSES)
    yield own
    own.close()


def take(own: Buckets, name: str = "busy") -> tuple[bool, float]:
    """Return whether it was given, and how long that took."""
    started = time.monotonic()
    taken = own.take(name, per_second=RATE)
    return taken.is_given, time.monotonic() - started


@FAULTS
def test_requests_go_on_and_hardly_one_waits(valkey, buckets, fault):
    take(buckets)
    fault(valkey)

    taken = [take(buckets) for _ in range(RATE)]

    assert all(is_given for is_given, _ in taken)
    waits = sorted(seconds for _, seconds in taken)
    assert waits[-1] < 0.5  # a tenth, and what a busy machine adds
    assert waits[-2] < 0.05


@FAULTS
def test_a_process_alone_keeps_to_its_share(valkey, buckets, fault):
    take(buckets)
    fault(valkey)
    started = time.monotonic()

    given = sum(take(buckets)[0] for _ in range(RATE * SECONDS_HELD))

    share = RATE / PROCESSES
    passed = time.monotonic() - started
    block = RATE / 5
    assert given <= share * (SECONDS_HELD + passed) + block + 1
    assert given >= share * SECONDS_HELD


def test_all_threads_at_once_wait_no_longer_than_one(valkey, buckets):
    pause(valkey)

    taken = run_together(*[lambda: take(buckets)] * 8)

    assert all(is_given for is_given, _ in taken)
    assert max(seconds for _, seconds in taken) < 0.5


def test_an_outage_that_comes_and_goes_does_not_fill_the_share_anew(valkey, buckets):
    make_read_only(valkey)
    started, given = time.monotonic(), 0
    for _ in range(5):
        given += sum(take(buckets)[0] for _ in range(RATE * SECONDS_HELD))
        buckets._is_away = False  # it seemed to be back

    passed = time.monotonic() - started
    assert given <= RATE / PROCESSES * (SECONDS_HELD + passed) + 1


@pytest.mark.parametrize(
    ("fault", "mend"), [(pause, nothing), (make_read_only, heal), (fill, heal)]
)
def test_valkey_is_asked_again_once_it_is_back(valkey, buckets, fault, mend):
    take(buckets)
    fault(valkey)
    while not buckets._is_away:
        take(buckets)
    mend(valkey)
    deadline = time.monotonic() + DEADLINE_SECONDS

    def calls():
        return valkey.info("commandstats")["cmdstat_evalsha"]["calls"]

    asked = calls()
    while calls() == asked:
        assert time.monotonic() < deadline
        take(buckets)


def test_the_smallest_share_lets_one_in(valkey):
    own = Buckets(url=url_of(valkey), expected_processes=50)
    kill(valkey)

    assert own.take("small", per_second=1).is_given
    own.close()


def test_submissions_are_accepted_without_valkey(api, valkey, settings):
    settings.REDIS_URL = url_of(valkey)
    kill(valkey)
    request_rate._buckets.cache_clear()
    try:
        answers = [api.submit(idempotency_key=f"k{number}") for number in range(20)]
    finally:
        request_rate._buckets().close()
        request_rate._buckets.cache_clear()

    assert {answer.status_code for answer in answers} == {202}
    # Half of what the bucket would hold: the share of one of two processes.
    assert answers[0]["RateLimit"] == '"default";r=2499'
