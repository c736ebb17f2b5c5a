"""Rules on numbers hold to the last message, with Valkey and without it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from redis import Redis

from tenants.number_counts.counts import Counted, Counts, Rule
from tests.acme import run_together
from tests.own_valkey import (
    fill,
    heal,
    kill,
    make_read_only,
    pause,
    url_of,
)

PROCESSES = 2
FIVE = Rule(name="five", key="n:{1}:five:x", window=timedelta(minutes=10), limit=5)
EIGHT = Rule(name="eight", key="n:{1}:eight:x", window=timedelta(days=1), limit=8)


@pytest.fixture
def counts(valkey: Redis) -> Iterator[Counts]:
    own = Counts(url=url_of(valkey), expected_processes=PROCESSES)
    yield own
    own.close()


@pytest.fixture
def other(valkey: Redis) -> Iterator[Counts]:
    """Count in another process, as it were."""
    own = Counts(url=url_of(valkey), expected_processes=PROCESSES)
    yield own
    own.close()


def passed(answers: list[Counted]) -> int:
    return sum(answer.refused_by is None for answer in answers)


def test_of_fifty_threads_exactly_the_limit_passes(counts, other):
    works = [partial(each.count, [FIVE]) for each in (counts, other) * 25]

    answers = run_together(*works)

    assert passed(answers) == 5


def test_who_refuses_says_for_how_long(counts):
    for _ in range(5):
        assert counts.count([FIVE]).refused_by is None

    refused = counts.count([FIVE])

    assert refused.refused_by == FIVE
    assert 590 < refused.wait_seconds <= 600


def test_what_one_rule_refuses_counts_under_none(counts):
    for _ in range(5):
        counts.count([FIVE, EIGHT])

    for _ in range(10):
        assert counts.count([FIVE, EIGHT]).refused_by == FIVE

    assert passed([counts.count([EIGHT]) for _ in range(10)]) == 3


def test_the_rule_that_refuses_longest_is_named(counts):
    five_a_day = replace(EIGHT, limit=5)
    for _ in range(5):
        counts.count([FIVE, five_a_day])

    for rules in ([five_a_day, FIVE], [FIVE, five_a_day]):
        refused = counts.count(rules)
        assert refused.refused_by == five_a_day
        assert refused.wait_seconds > 86_000


def test_the_window_slides(counts):
    short = replace(FIVE, limit=2, window=timedelta(seconds=0.3))
    counts.count([short])
    counts.count([short])
    refused = counts.count([short])
    assert refused.refused_by == short

    deadline = time.monotonic() + 5
    while counts.count([short]).refused_by is not None:
        assert time.monotonic() < deadline
    assert 0 < refused.wait_seconds <= 0.3


def test_a_message_that_is_taken_back_makes_room_for_one(counts):
    taken = [counts.count([FIVE, EIGHT]) for _ in range(5)]

    counts.take_back(taken[2])

    assert passed([counts.count([FIVE, EIGHT]) for _ in range(3)]) == 1
    assert passed([counts.count([EIGHT]) for _ in range(5)]) == 3


def test_a_lowered_limit_waits_until_enough_are_gone(counts):
    for _ in range(5):
        counts.count([FIVE])

    lowered = counts.count([replace(FIVE, limit=2)])

    assert lowered.refused_by is not None
    assert 590 < lowered.wait_seconds <= 600


def test_a_rule_that_only_watches_lets_all_in_and_remembers_its_limit_alone(
    counts, valkey
):
    watching = replace(FIVE, refuses=False)

    answers = [counts.count([watching]) for _ in range(20)]

    assert passed(answers) == 20
    assert answers[3].last == 4
    assert answers[-1].last >= 5
    (key,) = valkey.keys("*five*")
    assert valkey.zcard(key) == 5


def test_nothing_is_remembered_for_longer_than_its_window(counts, valkey):
    counts.count([FIVE, EIGHT])

    assert {valkey.pttl(key) > 0 for key in valkey.keys("*")} == {True}


@pytest.mark.parametrize("fault", [kill, pause, make_read_only, fill])
def test_without_valkey_each_process_keeps_to_its_share(valkey, counts, fault):
    fault(valkey)
    started = time.monotonic()

    answers = [counts.count([FIVE, EIGHT]) for _ in range(50)]

    # Three each: five, divided by two and rounded up, so that nobody is locked out.
    assert passed(answers) == 3
    assert answers[-1].refused_by == FIVE
    assert time.monotonic() - started < 1  # not a tenth for each


def test_threads_together_keep_to_the_share_too(valkey, counts):
    kill(valkey)

    answers = run_together(*[lambda: counts.count([FIVE])] * 50)

    assert passed(answers) == 3


def test_what_is_taken_back_without_valkey_makes_room(valkey, counts):
    kill(valkey)
    taken = [counts.count([FIVE]) for _ in range(3)]

    counts.take_back(taken[0])

    assert passed([counts.count([FIVE]) for _ in range(5)]) == 1


def test_valkey_counts_again_once_it_is_back(valkey, counts):
    make_read_only(valkey)
    assert passed([counts.count([FIVE]) for _ in range(10)]) == 3
    heal(valkey)

    deadline = time.monotonic() + 10
    while not valkey.keys("*five*"):
        counts.count([FIVE])
        assert time.monotonic() < deadline

    assert passed([counts.count([FIVE]) for _ in range(10)]) == 4
