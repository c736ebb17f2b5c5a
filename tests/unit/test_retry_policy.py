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
    UnknownPolicy,
    defer,
    next_step,
    unknown_policy,
)
from notifications.statuses import DeliveryStatus
from providers.base import Outcome, Scope, SendResult
from providers.channels import Channel
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
        "maybe_sent": False,
        "retry_is_safe": False,
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


def test_an_unknown_outcome_is_never_called_failed():
    """O-REL-2"""
    for category in Category:
        for channel in Channel:
            after = step(UNKNOWN, category=category, channel=channel)
            assert after.status in {DeliveryStatus.PENDING, DeliveryStatus.PARKED}
            assert after.unresolved


def test_a_second_unknown_parks_where_a_retry_is_not_safe():
    after = step(UNKNOWN, category=Category.OTP, number=2, maybe_sent=True)

    assert after.status is DeliveryStatus.PARKED


def test_a_second_unknown_is_retried_where_the_provider_knows_our_key():
    after = step(UNKNOWN, number=2, maybe_sent=True, retry_is_safe=True)

    assert after.status is DeliveryStatus.PENDING


@pytest.mark.parametrize(
    ("category", "channel", "safe", "choice"),
    [
        (Category.OTP, Channel.SMS, False, UnknownPolicy.RETRY),
        (Category.TRANSACTIONAL, Channel.EMAIL, False, UnknownPolicy.RETRY),
        (Category.TRANSACTIONAL, Channel.PUSH, False, UnknownPolicy.RETRY),
        (Category.TRANSACTIONAL, Channel.SMS, False, UnknownPolicy.PARK),
        (Category.TRANSACTIONAL, Channel.SMS, True, UnknownPolicy.RETRY),
        (Category.MARKETING, Channel.EMAIL, False, UnknownPolicy.PARK),
        (Category.MARKETING, Channel.EMAIL, True, UnknownPolicy.RETRY),
    ],
)
def test_what_an_unknown_outcome_leads_to(category, channel, safe, choice):
    assert (
        unknown_policy(category=category, channel=channel, retry_is_safe=safe) is choice
    )


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
