"""Decide in the claim whether a delivery may still go out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache

from django.conf import settings

from notifications.dispatch.containment import contained
from notifications.dispatch.work import Work
from notifications.retry_policy import (
    Attempt,
    NextStep,
    RetryPolicy,
    after_reconciling,
    after_unknown,
    defer,
)
from notifications.statuses import DeliveryStatus
from notifications.transitions import Fence
from preferences.held import Held
from preferences.policy import Case, Decision, Verdict, find_objection
from preferences.profile import Profile
from preferences.profiles import load_profiles
from preferences.releasing import release_at
from preferences.suppression import Place, find_suppressions
from providers.registry import idempotency_window, unknown_policy
from tenants.categories import Category


@cache
def retry_policy(category: str) -> RetryPolicy:
    """Return the category's policy of the settings."""
    return RetryPolicy(**settings.RETRY_POLICIES[category])


def retry_windows() -> dict[str, timedelta]:
    """Return for how long each category is tried again."""
    return {each: retry_policy(each).window for each in settings.RETRY_POLICIES}


def attempt_of(
    work: Work, *, now: datetime, called_at: datetime | None = None
) -> Attempt:
    """Describe the attempt that a claim allows; `called_at` is when it was made."""
    begun = work.begun
    category = Category(begun.category)
    return Attempt(
        category=category,
        channel=work.channel,
        number=begun.attempt_count + 1,
        covered_for=_covered_for(work, begun.called_at or called_at, now=now),
        unknown_policy=unknown_policy(
            work.provider, category=category, channel=work.channel
        ),
        unknown_count=begun.unknown_count,
        can_look_up=work.can_look_up,
        now=now,
        retry_until=begun.retry_until,
        expires_at=begun.expires_at,
    )


def _covered_for(work: Work, called_at: datetime | None, *, now: datetime) -> timedelta:
    if called_at is None:
        return timedelta(0)
    # A process's clock may have run ahead of the database's.
    elapsed = max(now - called_at, timedelta(0))
    return idempotency_window(work.provider) - elapsed


def judge(work: Work) -> NextStep | None:
    """Return where a delivery goes instead of out, None if it may be sent.

    What is true now counts, not what was true at acceptance: an opt-out committed
    before the claim is obeyed, and so are quiet hours.
    """
    begun = work.begun
    if (late := expired(work, now=begun.now)) is not None:
        return late
    if begun.reconcile_until is not None:
        is_lost = begun.is_taken_over and begun.now >= begun.reconcile_until
        return None if work.can_look_up and not is_lost else _after_waiting(work)
    if (doubtful := judge_doubt(work, now=begun.now)) is not None:
        return doubtful
    return judge_policy(work, work.profile, now=begun.now)


def expired(work: Work, *, now: datetime) -> NextStep | None:
    """Return the end of a delivery that has expired; it says if it did so while the
    person was not to be disturbed."""
    expires_at = work.begun.expires_at
    if expires_at is None or expires_at > now:
        return None
    last_good_moment = expires_at - timedelta.resolution
    objection = _find_objection(work, work.profile, at=last_good_moment)
    reason = "expired"
    if objection is not None and objection.verdict is Verdict.DEFER:
        reason = f"expired_in_{objection.reason}"
    return NextStep(status=DeliveryStatus.EXPIRED, reason=reason, counted=False)


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
    places = {place for work in works if (place := _place(work)) is not None}
    with contained("policy_unread", size=len(works)) as tried:
        profiles = load_profiles(people, channels=())
        held = find_suppressions(places)
    if tried.error is not None:
        return dict.fromkeys((work.fence for work in works), _POLICY_UNREAD)
    steps: dict[Fence, NextStep] = {}
    for work in works:
        profile = profiles[work.begun.tenant_id, work.user_id]
        known = held.get(place, ()) if (place := _place(work)) is not None else ()
        step = judge_policy(work, profile, now=profile.read_at, held=known)
        if step is not None:
            steps[work.fence] = step
    return steps


def judge_policy(
    work: Work, profile: Profile, *, now: datetime, held: Sequence[Held] = ()
) -> NextStep | None:
    """Return where policy sends a delivery instead of out, None if it may be sent."""
    objection = _find_objection(work, profile, at=now, held=held)
    if objection is None:
        return None
    if objection.until is None:
        return replace(suppressed(objection.reason), told=objection.told())
    due_at = release_at(
        objection.until,
        person=(work.begun.tenant_id, work.user_id),
        spread=settings.QUIET_HOURS_SPREAD,
        expires_at=work.begun.expires_at,
    )
    deferred = defer(
        due_at,
        reason=objection.reason,
        attempt=attempt_of(work, now=now),
        policy=retry_policy(work.begun.category),
    )
    return replace(deferred, told=objection.told())


def _place(work: Work) -> Place | None:
    """Return where the suppression list is looked up; the inbox has no address."""
    begun = work.begun
    if not begun.address_key:
        return None
    return begun.tenant_id, begun.channel, bytes(begun.address_key)


def _find_objection(
    work: Work, profile: Profile, *, at: datetime, held: Sequence[Held] = ()
) -> Decision | None:
    return find_objection(
        Case(
            profile=profile,
            channel=work.channel,
            category=work.category,
            priority=work.priority,
            at=at,
            held=held,
            country=work.country,
        )
    )


def suppressed(reason: str) -> NextStep:
    """Hold a delivery back for good, by policy and not by failure."""
    return NextStep(status=DeliveryStatus.SUPPRESSED, reason=reason, counted=False)


def judge_doubt(work: Work, *, now: datetime) -> NextStep | None:
    """Obey the policy for an unknown outcome that nobody has decided about yet; None
    if it may be sent all the same.

    That is the attempt of a worker that vanished, which the claim has counted, and one
    whose repetition has come so late that its provider has forgotten our key.
    """
    begun = work.begun
    undecided = begun.maybe_sent and begun.unknown_count == 0
    if work.is_local or not (begun.lost_attempt or undecided):
        return _attempts_used_up(work)
    # None is counted where a replay began to count anew.
    number = max(begun.attempt_count, 1)
    attempt = replace(attempt_of(work, now=now), number=number)
    if attempt.covered_for > timedelta(0) and not begun.lost_attempt:
        return None
    step = after_unknown(attempt, policy=retry_policy(begun.category), spread=0.0)
    if step.status is DeliveryStatus.PENDING and not step.uncovered:
        return None
    return replace(step, counted=False)


def _attempts_used_up(work: Work) -> NextStep | None:
    """On a local channel a lost attempt wrote nothing, and may just be made again."""
    begun = work.begun
    limit = retry_policy(begun.category).max_attempts
    if not begun.lost_attempt or begun.attempt_count < limit:
        return None
    return NextStep(
        status=DeliveryStatus.DEAD, reason="attempts_used_up", counted=False
    )


def _after_waiting(work: Work) -> NextStep:
    """Stop waiting to hear of a call: nobody can be asked, or whoever asked last
    vanished."""
    begun = work.begun
    attempt = replace(attempt_of(work, now=begun.now), number=begun.attempt_count)
    return after_reconciling(attempt, policy=retry_policy(begun.category))
