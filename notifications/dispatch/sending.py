"""Make one provider call: nothing of the database is held or asked meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from notifications.dispatch.claiming import Outgoing, settlement_of
from notifications.dispatch.containment import contained
from notifications.dispatch.judging import (
    attempt_of,
    expired,
    judge_doubt,
    judge_policy,
    retry_policy,
)
from notifications.dispatch.settling import Settlement
from notifications.dispatch.work import Work
from notifications.retry_policy import (
    ACCOUNT_REFUSED,
    RESUMED_AFTER_REFUSAL,
    SENT,
    Attempt,
    NextStep,
    hold_back,
    next_step,
)
from notifications.statuses import DeliveryStatus
from preferences.contact import UnusableAddress
from preferences.dead_addresses import DeadAddress, is_dead
from preferences.destinations import find_destination
from providers.base import LocalAdapter, Outcome, Scope, SendResult, Verdict
from providers.gateway import Gateway, Health
from providers.open_account import BREAKER_OPEN
from tenants.pumping_alarms import Suspicion

# Two processes' clocks never agree to the microsecond: what is this close to the end
# of its lease is left to whoever takes it over.
MARGIN = timedelta(seconds=1)


async def send(
    outgoing: Outgoing, *, gateway: Gateway, lease: timedelta, spread: float
) -> Settlement:
    """Send unless it is too late, and say what follows from the answer."""
    work = outgoing.work
    health = gateway.health()
    if len(work.route) > 1:
        gateway.want(work.route)

    called_at = None

    def just_before() -> None:
        nonlocal called_at
        call = gateway.account(work.provider).timeout
        check_time(outgoing, call=call, lease=lease)
        called_at = outgoing.now()

    # The call may have gone out before an adapter with a bug fell over.
    result = Verdict.UNKNOWN.result(code="adapter_error")
    try:
        with contained("adapter_failed", passing=(TooLate,), provider=work.provider):
            result = await gateway.send(
                outgoing.message,
                alias=work.provider,
                just_before=just_before,
                leaves=bool(work.alternatives - health.resting),
            )
    except TooLate as late:
        return settlement_of(work, late.step)
    adapter = gateway.account(work.provider).adapter if result.item else None
    attempt = attempt_of(work, now=outgoing.now(), called_at=called_at)
    return Settlement(
        fence=work.fence,
        notification_id=work.begun.notification_id,
        tenant_id=work.begun.tenant_id,
        channel=work.channel,
        priority=work.priority,
        attempt=outgoing.message.attempt,
        step=_step_after(
            result, outgoing, attempt, health=gateway.health(), spread=spread
        ),
        expires_at=work.begun.expires_at,
        provider=work.provider,
        is_probe=work.is_probe,
        called_at=called_at,
        result=result,
        adapter=adapter if isinstance(adapter, LocalAdapter) else None,
        suspicion=_suspicion(outgoing) if result.is_pumping_block else None,
        dead=_dead_address(work, result),
    )


def _dead_address(work: Work, result: SendResult) -> DeadAddress | None:
    """Say which address is dead by its provider's word; a simulation's is none."""
    begun, is_simulated = work.begun, work.adapter is None or work.adapter.is_simulated
    if not is_dead(result.scope) or is_simulated or not begun.address_key:
        return None
    return DeadAddress(
        tenant_id=begun.tenant_id,
        notification_id=begun.notification_id,
        delivery_id=begun.delivery_id,
        channel=work.channel,
        address_id=begun.address_id,
        key=bytes(begun.address_key),
        scope=result.scope,
    )


def _suspicion(outgoing: Outgoing) -> Suspicion | None:
    """Say where the number begins that the provider takes for pumped."""
    message = outgoing.message
    try:
        found = find_destination(message.address, countries=None)
    except UnusableAddress:
        return None
    return Suspicion(
        tenant_id=message.tenant_id,
        country=found.country,
        prefix=found.prefix,
        blocked=1,
    )


def _step_after(
    result: SendResult,
    outgoing: Outgoing,
    attempt: Attempt,
    *,
    health: Health,
    spread: float,
) -> NextStep:
    if result.outcome is Outcome.ACCEPTED:
        return SENT
    work = outgoing.work
    policy = retry_policy(work.begun.category)
    # A probe, or what failed as the breaker opened: the outage is no fault of its own,
    # and does not use up its time.
    rests = work.provider in health.resting | health.probing
    if rests:
        attempt = replace(attempt, retry_until=attempt.now + policy.window)
    if not result.is_called:
        step = hold_back(result, attempt, policy=policy)
        # Nor to one that needs a probe: it has got its message.
        others = work.alternatives - health.resting - health.probing
        if result.code == BREAKER_OPEN and others:
            return replace(step, reason="failed_over", delay=timedelta(0))
        return step
    step = next_step(result, attempt, policy=policy, spread=spread)
    step = replace(step, retry_window=policy.window) if rests else step
    if _moves_on(result, step, outgoing, health=health):
        return NextStep(
            status=DeliveryStatus.PENDING,
            reason="failed_over",
            delay=timedelta(0),
            retry_window=step.retry_window,
        )
    return _second_refusal(step, work) if result.is_account_fault else step


def _moves_on(
    result: SendResult, step: NextStep, outgoing: Outgoing, *, health: Health
) -> bool:
    """Tell whether another provider is tried at once. Once everybody has been, it backs
    off before the next round, or parks."""
    work = outgoing.work
    is_transient = (
        result.outcome is Outcome.TRANSIENT_ERROR
        and result.scope is Scope.MESSAGE
        and step.status is DeliveryStatus.PENDING
    )
    return (
        (is_transient or result.is_account_fault)
        and outgoing.message.attempt % len(work.route) != 0
        and bool(work.alternatives - health.resting)
    )


def _second_refusal(step: NextStep, work: Work) -> NextStep:
    """Believe an account that refuses the same message again after it was mended: then
    it is the message, and a person has to look at it."""
    if work.begun.was_reason == RESUMED_AFTER_REFUSAL:
        return replace(step, reason=ACCOUNT_REFUSED)
    return step


class TooLate(Exception):
    """Between the claim and the call, time ran out."""

    def __init__(self, step: NextStep) -> None:
        super().__init__(step.reason)
        self.step = step


def check_time(outgoing: Outgoing, *, call: timedelta, lease: timedelta) -> None:
    """Refuse the call if the message has expired, if quiet hours have begun, or if the
    claim would be over before the call surely is: another worker might be sending it
    by then."""
    work, now = outgoing.work, outgoing.now()
    late = expired(work, now=now)
    if not work.begun.is_reconciling:
        late = (
            late
            or judge_doubt(work, now=now)
            or judge_policy(work, work.profile, now=now)
        )
    if late is not None:
        raise TooLate(late)
    if now + call + MARGIN > work.begun.now + lease:
        raise TooLate(
            NextStep(
                status=DeliveryStatus.PENDING,
                reason="claim_running_out",
                delay=timedelta(0),
                counted=False,
                reconcile_until=work.begun.reconcile_until,
            )
        )
