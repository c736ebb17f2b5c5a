"""Settle a batch: outbox first, then deliveries, dead letters, items and the trail."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.failpoints import failpoint
from foundation.statements import Cursor, server_cursor
from notifications import outbox, transitions
from notifications.metrics import (
    observe_attempts,
    observe_lost_claims,
    observe_settled,
)
from notifications.outbox import Lane
from notifications.retry_policy import ACCOUNT_REFUSED, NextStep
from notifications.statuses import FINISHED, DeliveryStatus
from notifications.transitions import Arrow, Fence
from preferences.dead_addresses import DeadAddress, note_dead
from providers.account_faults import note_faulty, note_mended
from providers.base import Found, LocalAdapter, Outcome, SendResult
from providers.channels import Channel
from providers.registry import may_rest
from tenants.categories import Priority
from tenants.pumping_alarms import Suspicion
from tenants.pumping_alarms import note as note_pumping

ACTOR = "worker"

_KINDS = {
    DeliveryStatus.SENT: EventKind.DELIVERY_SENT,
    DeliveryStatus.FAILED: EventKind.DELIVERY_FAILED,
    DeliveryStatus.DEAD: EventKind.DELIVERY_DEAD,
    DeliveryStatus.PARKED: EventKind.DELIVERY_PARKED,
    DeliveryStatus.SUPPRESSED: EventKind.DELIVERY_SUPPRESSED,
    DeliveryStatus.EXPIRED: EventKind.DELIVERY_EXPIRED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What became of one claim: the step that follows and, if a call was made, its
    result; `adapter` writes the item of a local channel."""

    fence: Fence
    notification_id: UUID
    tenant_id: int
    channel: Channel
    priority: Priority
    attempt: int
    step: NextStep
    expires_at: datetime | None = None
    provider: str = ""
    # Whether the call was to see if a faulty account is mended.
    is_probe: bool = False
    # When the provider was called.
    called_at: datetime | None = None
    result: SendResult | None = None
    # What was answered where it was looked up instead.
    found: Found | None = None
    adapter: LocalAdapter | None = field(default=None, repr=False)
    # Whom the provider takes for pumped.
    suspicion: Suspicion | None = None
    # Which address nothing will arrive at any more.
    dead: DeadAddress | None = None

    @property
    def lane(self) -> Lane:
        return Lane(self.priority, self.channel)


def settle_batch(settlements: Sequence[Settlement]) -> None:
    """Settle within one transaction of its own."""
    failpoint("consumer.before_settle")
    with transaction.atomic(durable=True), server_cursor() as cursor:
        settle(cursor, settlements)
    failpoint("consumer.after_settle")


def settle(cursor: Cursor, settlements: Sequence[Settlement]) -> None:
    """Write every claim that is still ours, and an event for each, ours or not.

    A claim whose fence has moved on was taken over: its answer goes to the audit
    trail and changes nothing else.
    """
    if not settlements:
        return
    owned = outbox.lock_owned(cursor, [known.fence for known in settlements])
    won = [known for known in settlements if known.fence in owned]
    finished = [known for known in won if known.step.status in FINISHED]
    unfinished = [known for known in won if known.step.status not in FINISHED]
    outbox.delete(cursor, [known.fence.delivery_id for known in finished])
    counts = outbox.redate(cursor, [_redate(known) for known in unfinished])
    transitions.settle(cursor, [_arrow(known, counts) for known in won])
    _persist_items(cursor, won)
    record_events(
        cursor, [event for known in settlements for event in _events(known, owned)]
    )
    _learn_of_faults(cursor, settlements)
    note_pumping(cursor, [known.suspicion for known in settlements if known.suspicion])
    note_dead(cursor, [known.dead for known in settlements if known.dead], actor=ACTOR)
    _observe(settlements, owned)


def _redate(settlement: Settlement) -> outbox.Redate:
    """A parked delivery is due at its expiry, if it has one, so that it expires."""
    delivery_id = settlement.fence.delivery_id
    if settlement.step.status is DeliveryStatus.PARKED:
        return outbox.Redate(delivery_id=delivery_id, at=settlement.expires_at)
    step = settlement.step
    return outbox.Redate(delivery_id=delivery_id, delay=step.delay, at=step.at)


def _arrow(settlement: Settlement, counts: dict[UUID, int]) -> Arrow:
    step, result = settlement.step, settlement.result
    fence, answer = settlement.fence, settlement.result or settlement.found
    return Arrow(
        fence=fence,
        next_claim_count=counts.get(fence.delivery_id, fence.claim_count),
        status=step.status,
        counted=step.counted,
        unresolved=step.unresolved,
        provider=settlement.provider,
        provider_message_id=answer.provider_message_id if answer else "",
        reason=step.reason,
        code=result.code if result else "",
        retry_window=step.retry_window,
        called_at=settlement.called_at,
        uncovered=step.uncovered,
        reconcile_until=step.reconcile_until,
    )


def _persist_items(cursor: Cursor, won: Sequence[Settlement]) -> None:
    """Let local adapters write what they delivered, in this very transaction."""
    items: dict[LocalAdapter, list[object]] = defaultdict(list)
    for known in won:
        if known.adapter and known.result and known.result.item is not None:
            items[known.adapter].append(known.result.item)
    for adapter, batch in items.items():
        adapter.persist(cursor, batch)


# What settings are to blame for.
_OUR_OWN_FAULTS = frozenset({"unknown_provider", "channel_not_served"})
# What an account that is at fault cannot answer.
_PROVES_IT_WELL = frozenset({Outcome.ACCEPTED, Outcome.REJECTED})


def _learn_of_faults(cursor: Cursor, settlements: Sequence[Settlement]) -> None:
    """Let accounts rest that refused us and accepted nothing at the same time; call
    those again whose probe was not refused so."""
    faults: dict[str, str] = {}
    well: set[str] = set()
    mended: set[str] = set()
    for known in settlements:
        if known.result is None or known.result.code in _OUR_OWN_FAULTS:
            continue
        if known.result.is_account_fault and known.step.reason != ACCOUNT_REFUSED:
            faults[known.provider] = known.result.code
        elif known.result.outcome in _PROVES_IT_WELL:
            well.add(known.provider)
            if known.is_probe:
                mended.add(known.provider)
    note_mended(cursor, mended)
    note_faulty(
        cursor,
        {
            provider: code
            for provider, code in faults.items()
            if provider not in well and may_rest(provider)
        },
    )


def _events(settlement: Settlement, owned: set[Fence]) -> Iterator[AuditRecord]:
    """Tell of a look-up, and of where it led to unless that is to the next one."""
    found, step = settlement.found, settlement.step
    event = _event(settlement, owned)
    if found is None or not found.is_called or settlement.fence not in owned:
        yield event
        return
    yield replace(event, kind=EventKind.DELIVERY_LOOKED_UP)
    if step.reconcile_until is None:
        yield event


def _event(settlement: Settlement, owned: set[Fence]) -> AuditRecord:
    step, result = settlement.step, settlement.result
    detail: dict[str, object] = {"channel": settlement.channel.key, **step.told}
    if settlement.provider:
        detail["provider"] = settlement.provider
    if result is not None and result.is_called:
        detail["attempt"] = settlement.attempt
        detail |= {"outcome": result.outcome.value, "scope": result.scope.value}
        detail |= {"code": result.code} if result.code else {}
        if result.provider_message_id:
            detail["provider_message_id"] = result.provider_message_id
    if settlement.found is not None:
        detail |= _finding(settlement.found)
    if step.delay is not None:
        detail["retry_in_seconds"] = round(step.delay.total_seconds(), 3)
    if step.at is not None:
        detail["until"] = step.at
    return AuditRecord(
        kind=_event_kind(settlement, owned),
        tenant_id=settlement.tenant_id,
        actor=ACTOR,
        notification_id=settlement.notification_id,
        delivery_id=settlement.fence.delivery_id,
        reason=step.reason,
        detail=detail,
    )


def _finding(found: Found) -> dict[str, object]:
    """No `outcome`: whoever counts attempts by it must not count look-ups."""
    detail: dict[str, object] = {"finding": found.finding.value}
    if found.code:
        detail["code"] = found.code
    if found.provider_message_id:
        detail["provider_message_id"] = found.provider_message_id
    return detail


def _event_kind(settlement: Settlement, owned: set[Fence]) -> EventKind:
    if settlement.fence not in owned:
        return EventKind.DELIVERY_LATE_ANSWER
    if settlement.step.status is not DeliveryStatus.PENDING:
        return _KINDS[settlement.step.status]
    if settlement.step.counted:
        return EventKind.DELIVERY_RETRIED
    return EventKind.DELIVERY_SNOOZED


def observe_answers(settlements: Sequence[Settlement]) -> None:
    """Count what providers answered, whatever becomes of the settling."""
    answers = Counter(
        (known.channel, known.result.outcome)
        for known in settlements
        if known.result and known.result.is_called
    )
    for (channel, outcome), number in answers.items():
        observe_attempts(channel=channel.key, outcome=outcome.value, number=number)


def _observe(settlements: Sequence[Settlement], owned: set[Fence]) -> None:
    won = Counter(
        (known.channel, known.step.status)
        for known in settlements
        if known.fence in owned
    )
    for (channel, status), number in won.items():
        observe_settled(channel=channel.key, status=status.value, number=number)
    observe_lost_claims(number=len(settlements) - won.total())
