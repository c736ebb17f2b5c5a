"""The work of one task: what a consumer does for a batch, for a single delivery.

The way of a delivery whose first attempt is accepted has statements of its own; what
ends otherwise is settled by the platform's, a batch of one. Whatever a task leaves
`sending` the platform takes over when the lease is over, and retries are its own too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import UUID

from benchmarks.baselines.task_per_delivery import calling
from benchmarks.baselines.task_per_delivery.claim import (
    BEGIN,
    begin_parameters,
    work_of,
)
from benchmarks.baselines.task_per_delivery.settlement import (
    SETTLE_AS_SENT,
    settle_parameters,
)
from foundation.statements import server_cursor
from notifications.dispatch.claiming import Outgoing, settlement_of
from notifications.dispatch.judging import judge, suppressed
from notifications.dispatch.settling import Settlement, settle_batch
from notifications.dispatch.work import Work
from notifications.statuses import DeliveryStatus
from providers.base import OutboundMessage
from templates.rendering import render


def deliver(
    delivery_id: UUID, *, call: Callable[[Outgoing], Settlement] = calling.call
) -> None:
    """Send a delivery that is due, and settle it; do nothing if it is not."""
    claimed_at = time.monotonic()
    with server_cursor() as cursor:
        cursor.execute(BEGIN, begin_parameters(delivery_id))
        row = cursor.fetchone()
    if row is None:
        return
    prepared = prepare(work_of(row), claimed_at=claimed_at)
    settlement = call(prepared) if isinstance(prepared, Outgoing) else prepared
    if not _settled_as_sent(settlement):
        settle_batch([settlement])


def prepare(work: Work, *, claimed_at: float) -> Outgoing | Settlement:
    """Obey policy, unseal and render; a Settlement is of what may not go out."""
    stopped = judge(work)
    if stopped is not None:
        return settlement_of(work, stopped)
    message = _message(work)
    if message is None:
        return settlement_of(work, suppressed("address_gone"))
    return Outgoing(work=work, message=message, claimed_at=claimed_at)


def _message(work: Work) -> OutboundMessage | None:
    """Unseal and render; None where address or content are gone."""
    begun = work.begun
    address, variables = work.address(), work.variables()
    if address is None or variables is None:
        return None
    rendered = render(
        work.version, channel=work.channel, locale=work.locale, variables=variables
    )
    return OutboundMessage(
        delivery_id=begun.delivery_id,
        notification_id=begun.notification_id,
        tenant_id=begun.tenant_id,
        user_id=work.user_id,
        channel=work.channel,
        priority=work.priority,
        category=begun.category,
        address=address,
        parts=rendered.parts,
        locale=rendered.locale,
        attempt=begun.attempt_count + 1,
        expires_at=begun.expires_at,
        is_test=work.is_test,
        address_id=begun.address_id,
    )


def _settled_as_sent(settlement: Settlement) -> bool:
    """Settle what was accepted and is still ours; tell whether it was."""
    if settlement.step.status is not DeliveryStatus.SENT:
        return False
    with server_cursor() as cursor:
        cursor.execute(SETTLE_AS_SENT, settle_parameters(settlement))
        return cursor.rowcount == 1
