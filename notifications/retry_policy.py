"""What follows an attempt: pure rules over values, without clock or dice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

from notifications.statuses import DeliveryStatus
from providers.base import Finding, Outcome, SendResult
from providers.channels import Channel
from providers.unknown_policy import UnknownPolicy
from tenants.categories import Category


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Exponential back-off between `base` and `cap`, within a window of time.

    The window, not the number of attempts, is the budget: six attempts in 62
    seconds would turn every outage of a provider into lost messages.
    """

    base: timedelta
    cap: timedelta
    window: timedelta
    max_attempts: int

    def ceiling(self, attempts: int) -> timedelta | None:
        """Return the longest wait after that many attempts; None: no more tries."""
        if attempts >= self.max_attempts:
            return None
        doublings = max(min(attempts - 1, 32), 0)
        return min(self.base * (1 << doublings), self.cap)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The attempt that a result belongs to, as the rules see it."""

    category: Category
    channel: Channel
    number: int
    # For how long the provider still takes a second call for the first one.
    covered_for: timedelta
    # What else becomes of an unknown outcome, and how many there were before.
    unknown_policy: UnknownPolicy
    unknown_count: int
    # Whether the provider can be asked what became of a call.
    can_look_up: bool
    now: datetime
    retry_until: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """Where the delivery goes; `delay` or `at` says when a pending one is due again."""

    status: DeliveryStatus
    reason: str = ""
    delay: timedelta | None = None
    at: datetime | None = None
    counted: bool = True
    unresolved: bool = False
    # Unresolved, and a second call might be a second message.
    uncovered: bool = False
    reconcile_until: datetime | None = None
    # Opens the retry window anew, for so long from now.
    retry_window: timedelta | None = None
    # What else the trail is told of it.
    told: Mapping[str, object] = field(default_factory=dict, compare=False)


SENT = NextStep(status=DeliveryStatus.SENT)
FOUND_SENT = NextStep(
    status=DeliveryStatus.SENT, reason="found_by_look_up", counted=False
)
# Not this message's fault: it waits, uncounted, for the account's repair.
ACCOUNT_FAULT = NextStep(
    status=DeliveryStatus.PARKED, reason="account_fault", counted=False
)

# What a delivery's reason is while its outcome is unknown, and while it is looked for.
OUTCOME_UNKNOWN = "outcome_unknown"
RECONCILING = "reconciling"
# When the provider is asked, counted from when the outcome was found unknown.
LOOK_UPS = (
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=5),
)
RECONCILE_FOR = LOOK_UPS[-1]
_PARKED_UNKNOWN = NextStep(status=DeliveryStatus.PARKED, reason=OUTCOME_UNKNOWN)

# What a delivery's reason is while it is tried again although its account has refused
# it; and what it parks for if the account does so again.
RESUMED_AFTER_REFUSAL = "resumed_after_refusal"
ACCOUNT_REFUSED = "account_refused"


def next_step(  # noqa: PLR0911 - one answer for each outcome
    result: SendResult, attempt: Attempt, *, policy: RetryPolicy, spread: float
) -> NextStep:
    """Decide what follows a provider's answer; `spread` in [0, 1) is the jitter."""
    match result.outcome:
        case Outcome.ACCEPTED:
            return SENT
        case Outcome.REJECTED:
            return NextStep(
                status=DeliveryStatus.FAILED, reason=f"rejected_{result.scope.value}"
            )
        case Outcome.PERMANENT_ERROR if result.is_account_fault:
            return ACCOUNT_FAULT
        case Outcome.PERMANENT_ERROR:
            return NextStep(
                status=DeliveryStatus.FAILED, reason=f"permanent_{result.scope.value}"
            )
        case Outcome.RATE_LIMITED:
            return snooze(result.retry_after, attempt, policy=policy, spread=spread)
        case Outcome.TRANSIENT_ERROR:
            return retry(result.retry_after, attempt, policy=policy, spread=spread)
        case Outcome.UNKNOWN:
            return after_unknown(attempt, policy=policy, spread=spread)
        case _:
            assert_never(result.outcome)


def after_unknown(attempt: Attempt, *, policy: RetryPolicy, spread: float) -> NextStep:
    """Retry, reconcile or park an attempt whose outcome nobody knows.

    While the provider remembers our key, a second call is harmless. Otherwise only the
    first unknown is retried: the number of possible duplicates stays at one.
    """
    again = retry(None, attempt, policy=policy, spread=spread)
    if again.delay is not None and again.delay < attempt.covered_for:
        return replace(again, reason=OUTCOME_UNKNOWN, unresolved=True)
    match attempt.unknown_policy:
        case UnknownPolicy.RETRY if attempt.unknown_count == 0:
            step = _retry_at_once(attempt, policy=policy)
        # Where nobody can be asked again, a second wait would end as it began.
        case UnknownPolicy.RECONCILE if (
            attempt.can_look_up or attempt.unknown_count == 0
        ):
            step = _reconcile(attempt)
        case _:
            step = _PARKED_UNKNOWN
    return replace(step, unresolved=True, uncovered=True)


def after_look_up(
    finding: Finding,
    attempt: Attempt,
    *,
    policy: RetryPolicy,
    reconcile_until: datetime,
) -> NextStep:
    """Believe a provider that can tell; ask again, uncounted, or stop asking."""
    match finding:
        case Finding.FOUND:
            return FOUND_SENT
        case Finding.NOT_FOUND:
            step = _retry_at_once(attempt, policy=policy)
            return replace(step, counted=False)
        case Finding.CANNOT_TELL:
            return keep_looking(attempt, policy=policy, reconcile_until=reconcile_until)
        case _:
            assert_never(finding)


def keep_looking(
    attempt: Attempt, *, policy: RetryPolicy, reconcile_until: datetime
) -> NextStep:
    """Ask again at the next of the dates, or end it after the last."""
    begun_at = reconcile_until - RECONCILE_FOR
    for each in LOOK_UPS:
        at = begun_at + each
        if at > attempt.now:
            return NextStep(
                status=DeliveryStatus.PENDING,
                reason=RECONCILING,
                at=at if attempt.expires_at is None else min(at, attempt.expires_at),
                counted=False,
                reconcile_until=reconcile_until,
            )
    return after_reconciling(attempt, policy=policy)


def after_reconciling(attempt: Attempt, *, policy: RetryPolicy) -> NextStep:
    """End the time in which nobody could tell what became of a call: by a second
    one where that does less harm than none, else by a person's decision."""
    costs_money = attempt.channel is Channel.SMS
    is_second = attempt.unknown_count > 1
    if costs_money or is_second or attempt.category is Category.MARKETING:
        step = _PARKED_UNKNOWN
    else:
        step = _retry_at_once(attempt, policy=policy)
    return replace(step, counted=False)


def _reconcile(attempt: Attempt) -> NextStep:
    return NextStep(
        status=DeliveryStatus.PENDING,
        reason=RECONCILING,
        delay=_until_expiry(
            LOOK_UPS[0] if attempt.can_look_up else RECONCILE_FOR, attempt
        ),
        reconcile_until=attempt.now + RECONCILE_FOR,
    )


def _retry_at_once(attempt: Attempt, *, policy: RetryPolicy) -> NextStep:
    """Park where no attempts are left: what may have arrived has not failed."""
    step = retry(None, attempt, policy=policy, spread=0.0)
    if step.delay is None:
        return _PARKED_UNKNOWN
    return replace(step, reason=OUTCOME_UNKNOWN)


def retry(
    retry_after: timedelta | None,
    attempt: Attempt,
    *,
    policy: RetryPolicy,
    spread: float,
) -> NextStep:
    """Wait with full jitter, not shorter than the provider asks, or give up."""
    ceiling = policy.ceiling(attempt.number)
    if ceiling is None:
        return NextStep(status=DeliveryStatus.DEAD, reason="attempts_used_up")
    delay = max(ceiling * spread, retry_after or timedelta(0))
    if attempt.now + delay > attempt.retry_until:
        return NextStep(status=DeliveryStatus.DEAD, reason="retry_window_over")
    return NextStep(
        status=DeliveryStatus.PENDING,
        reason="transient_error",
        delay=_until_expiry(delay, attempt),
    )


def snooze(
    retry_after: timedelta | None,
    attempt: Attempt,
    *,
    policy: RetryPolicy,
    spread: float,
) -> NextStep:
    """Wait for quota: the provider proved that it did not process the message, so
    this was no attempt; only the window bounds it."""
    delay = retry_after or policy.base * (1 + spread)
    if attempt.now + delay > attempt.retry_until:
        return NextStep(
            status=DeliveryStatus.DEAD, reason="retry_window_over", counted=False
        )
    return NextStep(
        status=DeliveryStatus.PENDING,
        reason="rate_limited",
        delay=_until_expiry(delay, attempt),
        counted=False,
    )


def hold_back(result: SendResult, attempt: Attempt, *, policy: RetryPolicy) -> NextStep:
    """Wait, uncalled, for quota, for a place, or for an account that rests.

    That uses up nothing, not even time: only its expiry ends a message that we did not
    try to send.
    """
    return NextStep(
        status=DeliveryStatus.PENDING,
        reason=result.code,
        delay=_until_expiry(result.retry_after or policy.base, attempt),
        counted=False,
        retry_window=policy.window,
    )


def defer(
    until: datetime, *, reason: str, attempt: Attempt, policy: RetryPolicy
) -> NextStep:
    """Wait, uncalled, until policy allows it; its retry window opens only then.

    What expires before that is due at its expiry, so that the expiry is told in time.
    """
    return NextStep(
        status=DeliveryStatus.PENDING,
        reason=reason,
        at=until if attempt.expires_at is None else min(until, attempt.expires_at),
        counted=False,
        retry_window=until - attempt.now + policy.window,
    )


def _until_expiry(delay: timedelta, attempt: Attempt) -> timedelta:
    """Wake at the expiry rather than after it, so that the expiry is told in time."""
    if attempt.expires_at is None:
        return delay
    return min(delay, max(attempt.expires_at - attempt.now, timedelta(0)))
