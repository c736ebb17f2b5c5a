"""Claim a batch: win the outbox rows, follow on the deliveries, obey policy, render.

All of it runs on the database thread. Rendering comes right after the COMMIT, so that
the claim holds no lock for it and the call still follows within milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.failpoints import failpoint
from foundation.sealing import SealBroken
from foundation.statements import AWAY, Cursor, server_cursor
from notifications.dispatch import account_faults
from notifications.dispatch.containment import contained
from notifications.dispatch.judging import (
    judge,
    judge_again,
    retry_windows,
    suppressed,
)
from notifications.dispatch.ordering import keep_order, lock_keys
from notifications.dispatch.settling import ACTOR, Settlement, settle
from notifications.dispatch.work import Work, load_work
from notifications.metrics import observe_claim
from notifications.retry_policy import ACCOUNT_FAULT, NextStep
from notifications.statuses import DeliveryStatus
from notifications.transitions import (
    BrokenInvariant,
    Fence,
    begin_sending,
    clear_maybe_sent,
    note_provider,
)
from notifications.transport.base import Room, Transport
from preferences.contact import UnusableAddress
from preferences.destinations import find_destination
from preferences.links import WayOut, unsubscribe_url
from preferences.regional_rules import find_rules
from providers.base import Finding, OutboundMessage
from providers.channels import Channel
from providers.gateway import Health
from templates.rendering import RenderFailed, RenderOptions, render
from tenants.categories import LegalClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A delivery that is ours to send; `claimed_at` is this process's monotonic time
    at the claim, to carry the database's clock forward without asking it again."""

    work: Work
    message: OutboundMessage
    claimed_at: float

    def now(self) -> datetime:
        """Carry the claim's database time forward by the monotonic clock."""
        elapsed = timedelta(seconds=time.monotonic() - self.claimed_at)
        return self.work.begun.now + elapsed


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedBatch:
    """What is to be sent, and what turned out not to be sendable."""

    outgoing: list[Outgoing] = field(default_factory=list)
    unsendable: list[Settlement] = field(default_factory=list)
    size: int = 0
    # Whether there was anything to claim: stale records win nothing, and are work.
    found: bool = False


class Unsendable(Exception):
    """This claim leads to no call."""

    def __init__(self, step: NextStep) -> None:
        super().__init__(step.reason)
        self.step = step


class ClaimFailed(Exception):
    """An unforeseen error undid a claim; it names what had been claimed."""

    def __init__(self, fences: Sequence[Fence]) -> None:
        super().__init__(f"{len(fences)} deliveries")
        self.delivery_ids = frozenset(fence.delivery_id for fence in fences)


def claim_batch(
    transport: Transport,
    *,
    room: Room,
    health: Callable[[], Health],
) -> ClaimedBatch:
    """Claim due work and settle at once what may not go out any more."""
    if not transport.fetch(limit=room.total):
        return ClaimedBatch()
    claimed_at = time.monotonic()
    fences: list[Fence] = []
    sendable: list[Work] = []
    with (
        contained("claim_failed", passing=(*AWAY, BrokenInvariant)) as tried,
        transaction.atomic(durable=True),
        server_cursor() as cursor,
    ):
        fences = transport.claim(cursor, room=room)
        if fences:
            begun = begin_sending(cursor, fences, retry_windows=retry_windows())
            lock_keys(cursor, begun)
            works = load_work(cursor, begun, health=health())
            sendable = _judge_all(cursor, works)
    if tried.error is not None:
        raise ClaimFailed(fences) from tried.error
    if not fences:
        return ClaimedBatch(found=True)
    failpoint("consumer.after_claim")
    observe_claim(size=len(fences))
    return _prepare_all(sendable, claimed_at=claimed_at, size=len(fences))


def _prepare_all(
    works: Sequence[Work], *, claimed_at: float, size: int
) -> ClaimedBatch:
    batch = ClaimedBatch(size=size)
    # Whoever asks what became of a message disturbs nobody.
    stopped = judge_again([each for each in works if not each.begun.is_reconciling])
    for work in works:
        if work.fence in stopped:
            batch.unsendable.append(settlement_of(work, stopped[work.fence]))
            continue
        try:
            message = _message_or_unsendable(work)
        except Unsendable as unsendable:
            batch.unsendable.append(settlement_of(work, unsendable.step))
        else:
            batch.outgoing.append(
                Outgoing(work=work, message=message, claimed_at=claimed_at)
            )
    return batch


def _message_or_unsendable(work: Work) -> OutboundMessage:
    """Make the message; whatever else goes wrong with it makes it Unsendable."""
    with contained("render_failed", passing=(Unsendable,)) as tried:
        return _message(work)
    raise Unsendable(
        NextStep(status=DeliveryStatus.PARKED, reason="unrenderable", counted=False)
    ) from tried.error


def _judge_all(cursor: Cursor, works: Sequence[Work]) -> list[Work]:
    """Record lost attempts, settle what policy stops, return what may be sent."""
    lost = [work for work in works if work.begun.lost_attempt]
    record_events(
        cursor, [_lost_call(work) for work in works if work.begun.is_taken_over]
    )
    clear_maybe_sent(
        cursor,
        [
            work.begun.delivery_id
            for work in lost
            if work.is_local and not work.begun.was_maybe_sent
        ],
    )
    judged = keep_order(cursor, [(work, judge(work)) for work in works])
    judged = account_faults.hold_back(cursor, judged)
    settle(
        cursor,
        [settlement_of(work, step) for work, step in judged if step is not None],
    )
    sendable = [work for work, step in judged if step is None]
    note_provider(
        cursor,
        [
            (work.begun.delivery_id, work.provider)
            for work in sendable
            if len(work.route) > 1
        ],
    )
    return sendable


def _lost_call(work: Work) -> AuditRecord:
    """Tell of a call, or a look-up, whose worker never said what came of it."""
    begun = work.begun
    kind = EventKind.DELIVERY_ATTEMPT_LOST
    detail: dict[str, object] = {
        "attempt": begun.attempt_count,
        "outcome": "not_sent" if work.is_local else "unknown",
    }
    if begun.is_reconciling:
        kind = EventKind.DELIVERY_LOOKED_UP
        detail = {"finding": Finding.CANNOT_TELL.value}
    return AuditRecord(
        kind=kind,
        tenant_id=begun.tenant_id,
        actor=ACTOR,
        notification_id=begun.notification_id,
        delivery_id=begun.delivery_id,
        reason="worker_vanished",
        detail={"channel": work.channel.key, **detail},
    )


def settlement_of(work: Work, step: NextStep) -> Settlement:
    """Settle a claim without a call."""
    return Settlement(
        fence=work.fence,
        notification_id=work.begun.notification_id,
        tenant_id=work.begun.tenant_id,
        channel=work.channel,
        priority=work.priority,
        attempt=work.begun.attempt_count + 1,
        step=step,
        expires_at=work.begun.expires_at,
        provider=work.provider if step is ACCOUNT_FAULT or step.unresolved else "",
    )


def _check_destination(work: Work, address: str) -> None:
    """Obey the rules on countries and kinds of numbers as they are now."""
    if work.channel is not Channel.SMS or work.is_test or work.begun.is_reconciling:
        return
    try:
        find_destination(address, countries=work.sms_countries)
    except UnusableAddress as unusable:
        raise Unsendable(suppressed(unusable.reason)) from unusable


def _message(work: Work) -> OutboundMessage:
    """Unseal and render; raise Unsendable with what is to become of it instead."""
    begun = work.begun
    try:
        address = work.address()
        variables = work.variables()
    except SealBroken as broken:
        raise Unsendable(
            NextStep(status=DeliveryStatus.PARKED, reason="unsealable", counted=False)
        ) from broken
    if address is None:
        raise Unsendable(suppressed("address_gone"))
    _check_destination(work, address)
    if variables is None:
        raise Unsendable(suppressed("content_erased"))
    way_out = _way_out(work)
    try:
        rendered = render(
            work.version,
            channel=work.channel,
            locale=work.locale,
            variables=variables,
            time_zone=work.time_zone,
            options=RenderOptions(
                transliterates_sms=work.transliterates_sms, unsubscribe_url=way_out
            ),
        )
    except RenderFailed as failed:
        reason = f"render_{failed.reason}"
        raise Unsendable(
            NextStep(status=DeliveryStatus.FAILED, reason=reason, counted=False)
        ) from failed
    return OutboundMessage(
        delivery_id=begun.delivery_id,
        notification_id=begun.notification_id,
        tenant_id=begun.tenant_id,
        user_id=work.user_id,
        channel=work.channel,
        priority=work.priority,
        category=begun.category,
        address=address,
        parts=_with_label(work, rendered.parts),
        locale=rendered.locale,
        attempt=begun.attempt_count + 1,
        expires_at=begun.expires_at,
        is_test=work.is_test,
        address_id=begun.address_id,
        unsubscribe_url=way_out,
    )


def _with_label(work: Work, parts: Mapping[str, str]) -> Mapping[str, str]:
    """Let an advertisement begin with what the law of the number's country asks."""
    if not work.country:
        return parts
    rules = find_rules(
        country=work.country, channel=work.channel, category=work.category
    )
    return {**parts, "text": rules.labelled(parts["text"])}


def _way_out(work: Work) -> str:
    """Return the link by which one click ends such e-mail; only marketing has one."""
    is_marketing = work.category.legal_class is LegalClass.MARKETING
    if work.channel is not Channel.EMAIL or not is_marketing:
        return ""
    return unsubscribe_url(
        WayOut(
            tenant_id=work.begun.tenant_id,
            user_id=work.user_id,
            category=work.category.name,
            channel=work.channel,
            delivery_id=work.begun.delivery_id,
        )
    )
