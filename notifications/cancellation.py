"""Stop what has not gone out, and say of each channel what is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.ids import sibling_bounds
from foundation.statements import Cursor
from notifications import outbox, transitions
from notifications.statuses import DeliveryStatus
from providers.channels import Channel


class UnknownNotification(Exception):
    """There is no such notification."""


class CancelledTooLate(Exception):
    """Nothing could be stopped: every channel had been handed over or was finished."""

    def __init__(self, channels: Sequence[object]) -> None:
        super().__init__(str(self.__doc__))
        self.channels = channels


class CancelResult(StrEnum):
    """What cancelling did to one channel."""

    CANCELLED = "cancelled"
    # Further attempts are stopped, but one of them may have reached the person.
    STOPPED_OUTCOME_UNKNOWN = "stopped_outcome_unknown"
    TOO_LATE = "too_late"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelResult:
    """The result for one delivery; `status` is where it stands now."""

    delivery_id: UUID
    channel: Channel
    result: CancelResult
    status: DeliveryStatus


_DELIVERIES = """
SELECT d.id, d.channel, d.status, d.maybe_sent FROM delivery d
 WHERE d.notification_id = %(id)s AND d.tenant_id = %(tenant_id)s
   AND d.id >= %(low)s AND d.id < %(high)s
 ORDER BY d.id
"""
_NOTIFICATION = "SELECT 1 FROM notification WHERE id = %s AND tenant_id = %s"


def cancel(
    cursor: Cursor, *, tenant_id: int, notification_id: UUID, actor: str
) -> list[ChannelResult]:
    """Cancel every pending delivery of a notification, in the caller's transaction.

    Locks the outbox rows first, in order, so that a claim either has won before or
    finds nothing to win. Raises UnknownNotification.
    """
    cursor.execute(_NOTIFICATION, [notification_id, tenant_id])
    if cursor.fetchone() is None:
        raise UnknownNotification
    before = _read(cursor, tenant_id, notification_id)
    locked = outbox.lock(cursor, [row[0] for row in before])
    # Read again under the locks: a worker may have settled while we waited for them,
    # and what a replay has made pending since is not ours to touch without its lock.
    rows = _read(cursor, tenant_id, notification_id)
    pending = [
        row[0] for row in rows if row[2] == DeliveryStatus.PENDING and row[0] in locked
    ]
    stopped = transitions.cancel(cursor, pending)
    outbox.delete(cursor, list(stopped))
    results = [_result(row, stopped) for row in rows]
    record_events(cursor, _events(results, stopped, tenant_id, notification_id, actor))
    return results


_Row = tuple[UUID, int, str, bool]


def _read(cursor: Cursor, tenant_id: int, notification_id: UUID) -> list[_Row]:
    low, high = sibling_bounds(notification_id)
    cursor.execute(
        _DELIVERIES,
        {"id": notification_id, "tenant_id": tenant_id, "low": low, "high": high},
    )
    return [(row[0], row[1], row[2], row[3]) for row in cursor.fetchall()]


def _result(row: _Row, stopped: set[UUID]) -> ChannelResult:
    delivery_id, channel, status, maybe_sent = row
    result = CancelResult.TOO_LATE
    if delivery_id in stopped or status == DeliveryStatus.CANCELLED:
        status = DeliveryStatus.CANCELLED.value
        result = CancelResult.CANCELLED
        if maybe_sent:
            result = CancelResult.STOPPED_OUTCOME_UNKNOWN
    return ChannelResult(
        delivery_id=delivery_id,
        channel=Channel(channel),
        result=result,
        status=DeliveryStatus(status),
    )


def _events(
    results: Sequence[ChannelResult],
    stopped: set[UUID],
    tenant_id: int,
    notification_id: UUID,
    actor: str,
) -> list[AuditRecord]:
    asked = AuditRecord(
        kind=EventKind.NOTIFICATION_CANCEL_ASKED,
        tenant_id=tenant_id,
        actor=actor,
        notification_id=notification_id,
        detail={known.channel.key: known.result.value for known in results},
    )
    return [
        asked,
        *(
            AuditRecord(
                kind=EventKind.DELIVERY_CANCELLED,
                tenant_id=tenant_id,
                actor=actor,
                notification_id=notification_id,
                delivery_id=known.delivery_id,
                reason=known.result.value,
            )
            for known in results
            if known.delivery_id in stopped
        ),
    ]
