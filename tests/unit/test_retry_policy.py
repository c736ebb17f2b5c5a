"""What follows an attempt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.retry_policy import (
    Attempt,
    NextStep,
    RetryPolicy,
    after_look_up,
    after_reconciling,
    defer,
    next_step,
)
from notifications.statuses import DeliveryStatus
from providers.base import Finding, Outcome, Scope, SendResult
from providers.channels import Channel
from providers.unknown_policy import UnknownPolicy, default_policy
from tenants.categories import Category

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
# The table of the first requirement document: 2 s, doubled, at most 5 min, 6 attempts.
SEED = RetryPolicy(
    base=timedelta(seconds=2),
    cap=timedelta(minutes=5),
    window=timedelta(hours=24),
    max_attempts=6,
)
TRANSIENT = SendResult(outcome=Outcome.TRANSIENT_ERROR)
UNKNOWN = SendResult(outcome=Outcome.UNKNOWN)


def attempt(**changes):
    facts: dict[str, Any] = {
        "category": Category.TRANSACTIONAL,
        "channel": Channel.EMAIL,
        "number": 1,
        "covered_for": timedelta(0),
        "unknown_policy": UnknownPolicy.RETRY,
        "unknown_count": 0,
        "can_look_up": False,
        "now": NOW,
        "retry_until": NOW + timedelta(hours=24),
        "expires_at": None,
    }
    return Attempt(**(facts | changes))


def step(result, *, spread=0.5, policy=SEED, **changes):
    return next_step(result, attempt(**changes), policy=policy, spread=spread)


def test_the_seed_table_waits_2_4_8_16_32_seconds_and_then_gives_up():
    waits = [SEED.ceiling(number) for number in range(1, 7)]

    assert waits == [timedelta(seconds=s) for s in (2, 4, 8, 16, 32)] + [None]


def test_the_wait_is_capped():
    short = RetryPolicy(
        base=timedelta(seconds=2),
        cap=timedelta(seconds=10),
        window=timedelta(hours=1),
        max_attempts=6,
    )
    assert [short.ceiling(n) for n in (1, 3, 4)] == [
        timedelta(seconds=s) for s in (2, 8, 10)
    ]


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 5))
def test_full_jitter_lies_between_nothing_and_the_ceiling(spread, number):
    after = step(TRANSIENT, spread=spread, number=number)

    assert after.status is DeliveryStatus.PENDING
    assert timedelta(0) <= after.delay <= SEED.ceiling(number)


def test_a_retry_is_never_earlier_than_the_provider_asks():
    asked = SendResult(
        outcome=Outcome.TRANSIENT_ERROR, retry_after=timedelta(minutes=7)
    )
    assert step(asked).delay == timedelta(minutes=7)


def test_the_last_attempt_leads_to_the_dead_letters():
    after = step(TRANSIENT, number=6)

    assert (after.status, after.reason) == (DeliveryStatus.DEAD, "attempts_used_up")


def test_a_retry_behind_the_window_leads_to_the_dead_letters():
    after = step(TRANSIENT, spread=0.9, retry_until=NOW + timedelta(seconds=1))

    assert (after.status, after.reason) == (DeliveryStatus.DEAD, "retry_window_over")


def test_a_retry_wakes_at_the_expiry_and_not_after_it():
    after = step(TRANSIENT, spread=0.9, expires_at=NOW + timedelta(seconds=1))

    assert after.delay == timedelta(seconds=1)


def test_a_quota_refusal_counts_no_attempt_and_does_not_use_them_up():
    limited = SendResult(
        outcome=Outcome.RATE_LIMITED, retry_after=timedelta(seconds=30)
    )
    after = step(limited, number=100)

    assert (after.status, after.delay, after.counted) == (
        DeliveryStatus.PENDING,
        timedelta(seconds=30),
        False,
    )


@pytest.mark.parametrize("scope", [Scope.RECIPIENT, Scope.TOKEN, Scope.OPT_OUT])
def test_a_bad_recipient_is_not_tried_again(scope):
    after = step(SendResult(outcome=Outcome.REJECTED, scope=scope))

    assert (after.status, after.reason) == (DeliveryStatus.FAILED, f"rejected_{scope}")


def test_a_fault_of_the_account_parks_and_counts_nothing():
    after = step(SendResult(outcome=Outcome.PERMANENT_ERROR, scope=Scope.ACCOUNT))

    assert (after.status, after.counted) == (DeliveryStatus.PARKED, False)


@pytest.mark.parametrize("unknown_policy", UnknownPolicy)
@pytest.mark.parametrize("unknown_count", [0, 1])
@pytest.mark.parametrize("number", [1, 6])
def test_an_unknown_outcome_is_never_called_failed(
    unknown_policy, unknown_count, number
):
    """O-REL-2; not even with the last attempt."""
    for category in Category:
        for channel in Channel:
            facts = {
                "category": category,
                "channel": channel,
                "unknown_policy": unknown_policy,
                "number": number,
            }
            after = step(UNKNOWN, unknown_count=unknown_count, **facts)
            end = after_reconciling(
                attempt(unknown_count=unknown_count + 1, **facts), policy=SEED
            )
            for each in (after, end):
                assert each.status in {DeliveryStatus.PENDING, DeliveryStatus.PARKED}
            assert after.unresolved


def test_an_unknown_is_retried_at_once_and_a_second_one_parks():
    first, second = step(UNKNOWN), step(UNKNOWN, number=2, unknown_count=1)

    assert (first.status, first.delay) == (DeliveryStatus.PENDING, timedelta(0))
    assert first.uncovered
    assert (second.status, second.reason) == (DeliveryStatus.PARKED, "outcome_unknown")


@pytest.mark.parametrize(
    ("covered_for", "status"),
    [
        (timedelta(seconds=2, milliseconds=1), DeliveryStatus.PENDING),
        (timedelta(seconds=2), DeliveryStatus.PARKED),
        (timedelta(0), DeliveryStatus.PARKED),
    ],
)
def test_a_key_is_relied_on_while_the_retry_comes_within_its_window(
    covered_for, status
):
    after = step(
        UNKNOWN,
        number=2,
        unknown_policy=UnknownPolicy.PARK,
        covered_for=covered_for,
    )

    assert after.status is status
    assert after.uncovered is (status is DeliveryStatus.PARKED)


def test_what_is_reconciled_waits_five_minutes_and_not_beyond_its_expiry():
    facts = {"unknown_policy": UnknownPolicy.RECONCILE}
    after = step(UNKNOWN, **facts)
    sooner = step(UNKNOWN, expires_at=NOW + timedelta(minutes=1), **facts)

    assert (after.status, after.reason) == (DeliveryStatus.PENDING, "reconciling")
    assert after.delay == timedelta(minutes=5)
    assert after.reconcile_until == NOW + timedelta(minutes=5)
    assert sooner.delay == timedelta(minutes=1)


@pytest.mark.parametrize(
    ("category", "channel", "unknown_count", "status"),
    [
        (Category.TRANSACTIONAL, Channel.EMAIL, 1, DeliveryStatus.PENDING),
        (Category.TRANSACTIONAL, Channel.PUSH, 1, DeliveryStatus.PENDING),
        (Category.TRANSACTIONAL, Channel.SMS, 1, DeliveryStatus.PARKED),
        (Category.TRANSACTIONAL, Channel.EMAIL, 2, DeliveryStatus.PARKED),
        (Category.OTP, Channel.EMAIL, 1, DeliveryStatus.PENDING),
        (Category.MARKETING, Channel.EMAIL, 1, DeliveryStatus.PARKED),
    ],
)
def test_what_the_end_of_reconciling_leads_to(category, channel, unknown_count, status):
    facts = {"category": category, "channel": channel, "unknown_count": unknown_count}
    end = after_reconciling(attempt(**facts), policy=SEED)

    assert (end.status, end.reason) == (status, "outcome_unknown")
    assert not end.counted


def test_who_can_be_asked_is_asked_first_after_five_seconds_and_each_time():
    for unknown_count in (0, 1, 2):
        after = step(
            UNKNOWN,
            unknown_policy=UnknownPolicy.RECONCILE,
            can_look_up=True,
            unknown_count=unknown_count,
        )
        assert (after.reason, after.delay) == ("reconciling", timedelta(seconds=5))


def test_who_cannot_be_asked_is_waited_for_once():
    after = step(UNKNOWN, unknown_policy=UnknownPolicy.RECONCILE, unknown_count=1)

    assert after.status is DeliveryStatus.PARKED


def looked_up(finding, *, after=timedelta(0), **changes):
    return after_look_up(
        finding,
        attempt(now=NOW + after, unknown_count=1, **changes),
        policy=SEED,
        reconcile_until=NOW + timedelta(minutes=5),
    )


def test_what_is_found_is_sent_and_counts_no_attempt():
    found = looked_up(Finding.FOUND)

    assert (found.status, found.counted) == (DeliveryStatus.SENT, False)


@pytest.mark.parametrize(
    ("number", "status"), [(1, DeliveryStatus.PENDING), (6, DeliveryStatus.PARKED)]
)
def test_what_is_not_found_is_sent_again_while_attempts_are_left(number, status):
    missing = looked_up(Finding.NOT_FOUND, number=number, channel=Channel.SMS)

    assert (missing.status, missing.counted) == (status, False)
    assert missing.reconcile_until is None


@pytest.mark.parametrize(
    ("after", "at"), [(5, 30), (29, 30), (30, 120), (121, 300), (299, 300)]
)
def test_who_cannot_tell_is_asked_again_at_the_next_date(after, at):
    again = looked_up(Finding.CANNOT_TELL, after=timedelta(seconds=after))

    assert (again.status, again.at) == (
        DeliveryStatus.PENDING,
        NOW + timedelta(seconds=at),
    )
    assert again.reconcile_until == NOW + timedelta(minutes=5)
    assert not again.counted


def test_after_the_last_date_nobody_is_asked():
    end = looked_up(Finding.CANNOT_TELL, after=timedelta(minutes=5))

    assert (end.reason, end.reconcile_until) == ("outcome_unknown", None)


@pytest.mark.parametrize(
    ("category", "channel", "policy"),
    [
        (Category.OTP, Channel.SMS, UnknownPolicy.RETRY),
        (Category.OTP, Channel.EMAIL, UnknownPolicy.RETRY),
        (Category.TRANSACTIONAL, Channel.EMAIL, UnknownPolicy.RECONCILE),
        (Category.TRANSACTIONAL, Channel.PUSH, UnknownPolicy.RECONCILE),
        (Category.TRANSACTIONAL, Channel.SMS, UnknownPolicy.RECONCILE),
        (Category.MARKETING, Channel.SMS, UnknownPolicy.PARK),
        (Category.MARKETING, Channel.EMAIL, UnknownPolicy.PARK),
    ],
)
def test_default_policy_for_unknown_outcomes(category, channel, policy):
    assert default_policy(category=category, channel=channel) is policy


@pytest.mark.parametrize(
    ("expires_at", "due_at"),
    [
        (None, NOW + timedelta(hours=10)),
        (NOW + timedelta(hours=11), NOW + timedelta(hours=10)),
        (NOW + timedelta(hours=9), NOW + timedelta(hours=9)),
    ],
)
def test_what_policy_defers_waits_uncounted_and_has_its_whole_window_afterwards(
    expires_at, due_at
):
    put_off = defer(
        NOW + timedelta(hours=10),
        reason="quiet_hours",
        attempt=attempt(expires_at=expires_at),
        policy=SEED,
    )

    assert put_off == NextStep(
        status=DeliveryStatus.PENDING,
        reason="quiet_hours",
        at=due_at,
        counted=False,
        retry_window=timedelta(hours=10) + SEED.window,
    )
