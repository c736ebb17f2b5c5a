"""Decide in the claim whether a delivery may still go out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache

from django.conf import settings

from notifications.dispatch.containment import contained
from notifications.dispatch.work import Work
from notifications.retry_policy import Attempt, NextStep, RetryPolicy, after_unknown
from notifications.statuses import DeliveryStatus
from notifications.transitions import Fence
from preferences.policy import Verdict, decide
from preferences.profile import Profile
from preferences.profiles import load_profiles
from tenants.categories import Category


@cache
def retry_policy(category: str) -> RetryPolicy:
    """Return the category's policy of the settings."""
    return RetryPolicy(**settings.RETRY_POLICIES[category])


def retry_windows() -> dict[str, timedelta]:
    """Return for how long each category is tried again."""
    return {each: retry_policy(each).window for each in settings.RETRY_POLICIES}


def attempt_of(work: Work, *, now: datetime) -> Attempt:
    """Describe the attempt that a claim allows."""
    begun = work.begun
    return Attempt(
        category=Category(begun.category),
        channel=work.channel,
        number=begun.attempt_count + 1,
        maybe_sent=begun.maybe_sent,
        retry_is_safe=work.adapter is not None and work.adapter.accepts_idempotency_key,
        now=now,
        retry_until=begun.retry_until,
        expires_at=begun.expires_at,
    )


def judge(work: Work) -> NextStep | None:
    """Return where a delivery goes instead of out, None if it may be sent.

    What is true now counts, not what was true at acceptance: an opt-out committed
    before the claim is obeyed.
    """
    begun = work.begun
    if begun.expires_at is not None and begun.expires_at <= begun.now:
        return NextStep(status=DeliveryStatus.EXPIRED, reason="expired", counted=False)
    if begun.is_taken_over and (lost := _after_lost_attempt(work)) is not None:
        return lost
    return _judge_policy(work, work.profile)


_POLICY_UNREAD = NextStep(
    status=DeliveryStatus.PENDING,
    reason="policy_unread",
    delay=timedelta(seconds=1),
    counted=False,
)


def judge_again(works: Sequence[Work]) -> dict[Fence, NextStep]:
    """Ask policy once more behind the COMMIT of the claim; return whom it stops.

    The claim looked a moment before it was committed. What was committed in between
    came before the claim all the same, and only a look from behind it is sure to see
    that. Where the look fails, nothing has been sent: all of it is put off.
    """
    if not works:
        return {}
    people = {(work.begun.tenant_id, work.user_id) for work in works}
    with contained("policy_unread", size=len(works)) as tried:
        profiles = load_profiles(people, channels=())
    if tried.error is not None:
        return dict.fromkeys((work.fence for work in works), _POLICY_UNREAD)
    steps = {
        work.fence: _judge_policy(work, profiles[work.begun.tenant_id, work.user_id])
        for work in works
    }
    return {fence: step for fence, step in steps.items() if step is not None}


def _judge_policy(work: Work, profile: Profile) -> NextStep | None:
    decision = decide(
        profile=profile, channel=work.channel, category=work.begun.category
    )
    if decision.verdict is Verdict.SUPPRESS:
        return suppressed(decision.reason)
    return None


def suppressed(reason: str) -> NextStep:
    """Hold a delivery back for good, by policy and not by failure."""
    return NextStep(status=DeliveryStatus.SUPPRESSED, reason=reason, counted=False)


def _after_lost_attempt(work: Work) -> NextStep | None:
    """Obey the unknown policy for the attempt of a worker that vanished.

    The claim has counted it; on a local channel it wrote nothing, so it may just be
    made again, as long as attempts are left.
    """
    begun = work.begun
    policy = retry_policy(begun.category)
    if begun.attempt_count >= policy.max_attempts:
        return NextStep(
            status=DeliveryStatus.DEAD, reason="attempts_used_up", counted=False
        )
    if work.is_local:
        return None
    lost = replace(
        attempt_of(work, now=begun.now),
        number=begun.attempt_count,
        maybe_sent=begun.was_maybe_sent,
    )
    step = after_unknown(lost, policy=policy, spread=0.0)
    if step.status is DeliveryStatus.PENDING:
        return None
    return NextStep(status=step.status, reason=step.reason, counted=False)
