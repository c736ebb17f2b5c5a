"""An account is given less when it refuses or is late, and slowly more again."""

from __future__ import annotations

import pytest

from providers.adapting import AdaptivePlaces, AdaptiveRate


def test_refusals_of_one_moment_count_once():
    rate = AdaptiveRate()

    for _ in range(50):
        rate.refused(now=10.0)
    rate.refused(now=10.05)

    assert rate.part == pytest.approx(0.9)


def test_half_the_capacity_is_found_within_a_second():
    rate = AdaptiveRate()

    moments = [10 + n / 100 for n in range(100)]
    for now in moments:
        if rate.part > 0.5:
            rate.refused(now=now)

    assert 0.45 <= rate.part <= 0.5


def test_rate_recovers_within_a_minute_and_not_above_the_quota():
    rate = AdaptiveRate()
    for n in range(100):
        rate.refused(now=float(n))
    assert rate.part == 0.02

    for n in range(60):
        rate.answered(now=100.0 + n)

    assert rate.part == 1.0


def test_answers_to_calls_of_before_do_not_raise_the_rate():
    rate = AdaptiveRate()
    rate.refused(now=10.0)

    rate.answered(now=10.4)

    assert rate.part == pytest.approx(0.9)


def test_a_pause_raises_the_rate_no_further_than_a_second_of_answers():
    rate = AdaptiveRate()
    for n in range(10):
        rate.refused(now=float(n))
    before = rate.part

    rate.answered(now=1000.0)

    assert rate.part == pytest.approx(before + 0.02)


def test_places_fall_to_one_and_no_lower():
    places = AdaptivePlaces(50)

    for n in range(100):
        places.overloaded(now=float(n))

    assert places.number == 1


def test_a_burst_of_failures_takes_a_tenth_of_the_places():
    places = AdaptivePlaces(50)

    for _ in range(50):
        places.overloaded(now=10.0)

    assert places.number == 45


def test_places_grow_by_one_with_every_round_of_calls_and_stop_at_the_ceiling():
    places = AdaptivePlaces(10)
    for n in range(100):
        places.overloaded(now=float(n))

    places.answered(was_full=True, now=102.0)
    assert places.number == 2
    for _ in range(200):
        places.answered(was_full=True, now=103.0)

    assert places.number == 10


def test_places_that_nobody_needs_do_not_come_back():
    places = AdaptivePlaces(10)
    places.overloaded(now=10.0)

    for n in range(100):
        places.answered(was_full=False, now=20.0 + n)

    assert places.number == 9
