"""Stop what has not gone out, and say of each channel what is true."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.ids import sibling_bounds
from foundation.statements import Cursor
from notifications import outbox, transitions
from notifications.statuses import UNFINISHED, DeliveryStatus
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """On whose behalf something is cancelled, and what the trail calls them."""

    tenant_id: int
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """What became of one notification."""

    notification_id: UUID
    channels: Sequence[ChannelResult]


_STOPPABLE, _ = transitions.ARROWS["cancel"]

_NOTIFICATION = "SELECT 1 FROM notification WHERE id = %s AND tenant_id = %s"


def cancel(cursor: Cursor, *, asker: Asker, notification_id: UUID) -> Cancelled:
    """Cancel what may still go out of a notification, in the caller's transaction.

    Raises UnknownNotification.
    """
    cursor.execute(_NOTIFICATION, [notification_id, asker.tenant_id])
    if cursor.fetchone() is None:
        raise UnknownNotification
    (cancelled,) = _stop(cursor, asker, [notification_id])
    return cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePage:
    """Which notifications to cancel: at most `limit` of a reference, behind `after`."""

    reference: str
    after: UUID | None
    limit: int
    only_test: bool


# Oldest first: what is accepted meanwhile comes last, and so is still met.
# Only notification_reference has this order, and it must be walked in it, whatever is
# believed of a reference that may be new and a million long. With = in place of = ANY
# the order would be that of the id, and the primary key walk over everybody's; with
# sorting allowed every page of an unknown reference would read all that is left of it.
_OF_REFERENCE = """
SELECT n.id, n.is_test FROM notification n
 WHERE n.tenant_id = %(tenant_id)s AND n.reference = ANY (ARRAY[%(reference)s])
   AND NOT (n.reference = '') AND n.id > %(after)s
 ORDER BY n.reference, n.id LIMIT %(limit)s
"""
_IN_ORDER = "SET LOCAL enable_sort TO off"
_AS_USUAL = "SET LOCAL enable_sort TO DEFAULT"


def cancel_page(
    cursor: Cursor, *, asker: Asker, page: ReferencePage
) -> tuple[list[Cancelled], UUID | None]:
    """Cancel a page of what has a reference, in the caller's transaction.

    Also returns where the page ended, None if there is nothing behind it. A page may
    hold fewer than its limit: what is live is not a test key's to stop, and no page
    looks at more than it may stop.
    """
    found = _find(cursor, asker, page)
    seen = found[: page.limit]
    ids = [row[0] for row in seen if row[1] or not page.only_test]
    last = seen[-1][0] if len(found) > page.limit else None
    return _stop(cursor, asker, ids), last


def _find(cursor: Cursor, asker: Asker, page: ReferencePage) -> list[tuple[UUID, bool]]:
    """Find a page's notifications and one more, each with whether it is a test."""
    cursor.execute(_IN_ORDER)
    cursor.execute(
        _OF_REFERENCE,
        {
            "tenant_id": asker.tenant_id,
            "reference": page.reference,
            "after": page.after or UUID(int=0),
            "limit": page.limit + 1,
        },
    )
    found = [(row[0], row[1]) for row in cursor.fetchall()]
    cursor.execute(_AS_USUAL)
    return found


def _stop(
    cursor: Cursor, asker: Asker, notification_ids: Sequence[UUID]
) -> list[Cancelled]:
    """Cancel what may still go out of these notifications and tell the trail.

    Locks the outbox rows first, in order, so that a claim either has won before or
    finds nothing to win. What waits for a person is stopped too: nobody shall replay
    what its sender has called back.
    """
    before = _read(cursor, asker, notification_ids)
    locked = outbox.lock(cursor, [row.delivery_id for row in before])
    # Read again under the locks: a worker may have settled while we waited for them,
    # and what a replay has made pending since is not ours to touch without its lock.
    rows = _read(cursor, asker, notification_ids)
    stoppable = [
        (row.delivery_id, DeliveryStatus(row.status))
        for row in rows
        if row.status in _STOPPABLE
        and (row.delivery_id in locked) == (row.status in UNFINISHED)
    ]
    stopped = transitions.cancel(cursor, stoppable)
    outbox.delete(cursor, [one for one in stopped if one in locked])
    channels: dict[UUID, list[ChannelResult]] = {one: [] for one in notification_ids}
    for row in rows:
        channels[row.notification_id].append(_result(row, stopped))
    results = [
        Cancelled(notification_id=one, channels=known)
        for one, known in channels.items()
    ]
    record_events(cursor, _events(results, stopped, asker))
    return results


class _Row(NamedTuple):
    notification_id: UUID
    delivery_id: UUID
    channel: int
    status: str
    maybe_sent: bool


# One index look-up for each notification, as in tracking.
_DELIVERIES = """
SELECT d.notification_id, d.id, d.channel, d.status, d.maybe_sent
  FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[]) r(id, low, high),
       LATERAL (SELECT * FROM delivery
                 WHERE notification_id = r.id AND id >= r.low AND id < r.high
                OFFSET 0) d
 WHERE d.tenant_id = %s
 ORDER BY d.id
"""


def _read(cursor: Cursor, asker: Asker, notification_ids: Sequence[UUID]) -> list[_Row]:
    bounds = [sibling_bounds(one) for one in notification_ids]
    cursor.execute(
        _DELIVERIES,
        [
            list(notification_ids),
            [low for low, _ in bounds],
            [high for _, high in bounds],
            asker.tenant_id,
        ],
    )
    return [_Row._make(row) for row in cursor.fetchall()]


def _result(row: _Row, stopped: Container[UUID]) -> ChannelResult:
    status, result = DeliveryStatus(row.status), CancelResult.TOO_LATE
    if row.delivery_id in stopped or status is DeliveryStatus.CANCELLED:
        status = DeliveryStatus.CANCELLED
        result = CancelResult.CANCELLED
        if row.maybe_sent:
            result = CancelResult.STOPPED_OUTCOME_UNKNOWN
    return ChannelResult(
        delivery_id=row.delivery_id,
        channel=Channel(row.channel),
        result=result,
        status=status,
    )


def _events(
    results: Sequence[Cancelled], stopped: Container[UUID], asker: Asker
) -> list[AuditRecord]:
    """Tell of every notification that it was asked for, and of what was stopped."""
    asked = [
        AuditRecord(
            kind=EventKind.NOTIFICATION_CANCEL_ASKED,
            tenant_id=asker.tenant_id,
            actor=asker.actor,
            notification_id=one.notification_id,
            detail={known.channel.key: known.result.value for known in one.channels},
        )
        for one in results
    ]
    cancelled = [
        AuditRecord(
            kind=EventKind.DELIVERY_CANCELLED,
            tenant_id=asker.tenant_id,
            actor=asker.actor,
            notification_id=one.notification_id,
            delivery_id=known.delivery_id,
            reason=known.result.value,
        )
        for one in results
        for known in one.channels
        if known.delivery_id in stopped
    ]
    return asked + cancelled
