"""Read where notifications stand: one by its id, or pages that never scan history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from foundation.ids import floor_id, sibling_bounds
from foundation.statements import server_cursor
from notifications import order
from notifications.cancellation import UnknownNotification
from notifications.statuses import DeliveryStatus, notification_state, state_sql
from providers.channels import Channel
from tenants import data_keys

WIDEST_WINDOW = timedelta(hours=24)


class UnboundedFilter(Exception):
    """Filters on status and channel need user_id, reference, or at most 24 hours
    between created_from and created_to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStanding:
    """Where one delivery stands, and what an unfinished one waits for."""

    id: UUID
    channel: Channel
    status: DeliveryStatus
    attempts: int
    maybe_sent: bool
    reason: str
    code: str
    provider: str
    updated_at: datetime
    next_attempt_at: datetime | None
    waiting_for: str


class Header(NamedTuple):
    """The notification's own row."""

    id: UUID
    user_id: str
    template_version_id: int
    priority: int
    reference: str
    is_test: bool
    created_at: datetime
    send_at: datetime
    expires_at: datetime | None
    is_future: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A notification with its deliveries and the state they add up to."""

    header: Header
    state: str
    deliveries: Sequence[DeliveryStanding]


_HEADER = """
SELECT n.id, n.user_id, n.template_version_id, n.priority, n.reference, n.is_test,
       n.created_at, n.send_at, n.expires_at, n.send_at > app_now()
  FROM notification n
"""
# OFFSET 0 keeps the planner from one hash join over every partition: it does not count
# on the bounds leaving one of them to look into.
_DELIVERIES = """
SELECT d.notification_id, d.id, d.channel, d.status, d.attempt_count, d.claim_count,
       d.maybe_sent, d.reason, d.code, d.provider, d.updated_at, o.due_at,
       o.due_at > app_now()
  FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[]) r(id, low, high),
       LATERAL (SELECT * FROM delivery
                 WHERE notification_id = r.id AND id >= r.low AND id < r.high
                OFFSET 0) d
  LEFT JOIN outbox o ON o.delivery_id = d.id
 WHERE d.tenant_id = %s
 ORDER BY d.id
"""


def read_standing(*, tenant_id: int, notification_id: UUID) -> Standing:
    """Return where a notification stands; raise UnknownNotification."""
    with server_cursor() as cursor:
        cursor.execute(
            f"{_HEADER} WHERE n.id = %s AND n.tenant_id = %s".encode(),
            [notification_id, tenant_id],
        )
        row = cursor.fetchone()
    if row is None:
        raise UnknownNotification
    return _standings(tenant_id, [Header._make(row)])[0]


def read_metadata(*, tenant_id: int, notification_id: UUID) -> Mapping[str, str]:
    """Unseal the caller's metadata; empty once the content has been erased."""
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT sealed FROM notification_content WHERE id = %s AND tenant_id = %s",
            [notification_id, tenant_id],
        )
        row = cursor.fetchone()
    if row is None:
        return {}
    plaintext = data_keys.unseal(
        tenant_id=tenant_id,
        table="notification_content",
        row=notification_id,
        sealed=row[0],
    )
    metadata: dict[str, str] = orjson.loads(plaintext)["metadata"]
    return metadata


def read_decisions(*, notification_id: UUID) -> list[dict[str, Any]]:
    """Return what policy decided at acceptance, channel by channel, from the trail.

    Not scoped by tenant: the notification was found within its tenant.
    """
    low, high = sibling_bounds(notification_id)
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT detail -> 'decisions' FROM audit_event"
            " WHERE notification_id = %s AND kind = 'notification.accepted'"
            " AND id >= %s AND id < %s",
            [notification_id, low, high],
        )
        row = cursor.fetchone()
    return (row and row[0]) or []


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What to list, newest first; `after` is where the last page ended."""

    user_id: str | None = None
    reference: str | None = None
    state: str | None = None
    channel: Channel | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    after: UUID | None = None
    limit: int = 50

    def is_bounded(self) -> bool:
        """Tell whether an index bounds what a page can cost."""
        if self.state is None and self.channel is None:
            return True
        if self.user_id is not None or self.reference is not None:
            return True
        if self.created_from is None or self.created_to is None:
            return False
        return self.created_to - self.created_from <= WIDEST_WINDOW


_STATE = state_sql(
    statuses="array_agg(d.status)",
    untouched="bool_and(d.claim_count = 0)",
    in_future="n.send_at > app_now()",
)
_CONDITIONS = {
    "user_id": "n.user_id = %(user_id)s",
    "reference": "n.reference = %(reference)s AND NOT (n.reference = '')",
    "created_from": "n.id >= %(created_from)s",
    "created_to": "n.id < %(created_to)s",
    "after": "n.id < %(after)s",
    "channel": "EXISTS (SELECT FROM delivery d WHERE d.notification_id = n.id"
    " AND d.channel = %(channel)s)",
    "state": f"(SELECT {_STATE} FROM delivery d"  # noqa: S608 - rules of this code
    " WHERE d.notification_id = n.id) = %(state)s",
}


def list_standings(*, tenant_id: int, chosen: Filter) -> tuple[list[Standing], bool]:
    """Return a page, newest first, and whether there is another one behind it.

    Raises UnboundedFilter where a page could scan the whole history.
    """
    if not chosen.is_bounded():
        raise UnboundedFilter
    values = {
        "user_id": chosen.user_id,
        "reference": chosen.reference,
        "created_from": chosen.created_from and floor_id(chosen.created_from),
        "created_to": chosen.created_to and floor_id(chosen.created_to),
        "after": chosen.after,
        "channel": chosen.channel and chosen.channel.value,
        "state": chosen.state,
    }
    given = {name: value for name, value in values.items() if value is not None}
    conditions = ["n.tenant_id = %(tenant_id)s", *(_CONDITIONS[name] for name in given)]
    statement = (
        f"{_HEADER} WHERE {' AND '.join(conditions)} ORDER BY n.id DESC LIMIT %(limit)s"
    )
    with server_cursor() as cursor:
        cursor.execute(
            statement.encode(),
            {**given, "tenant_id": tenant_id, "limit": chosen.limit + 1},
        )
        headers = [Header._make(row) for row in cursor.fetchall()]
    page = headers[: chosen.limit]
    return _standings(tenant_id, page), len(headers) > chosen.limit


def _standings(tenant_id: int, headers: Sequence[Header]) -> list[Standing]:
    bounds = [sibling_bounds(header.id) for header in headers]
    found: dict[UUID, list[tuple[Any, ...]]] = defaultdict(list)
    with server_cursor() as cursor:
        cursor.execute(
            _DELIVERIES,
            [
                [header.id for header in headers],
                [low for low, _ in bounds],
                [high for _, high in bounds],
                tenant_id,
            ],
        )
        for row in cursor.fetchall():
            found[row[0]].append(row[1:])
    return [_standing(header, found[header.id]) for header in headers]


def _standing(header: Header, rows: Sequence[tuple[Any, ...]]) -> Standing:
    deliveries = [_delivery(header, row) for row in rows]
    state = notification_state(
        [known.status for known in deliveries],
        untouched=all(row[4] == 0 for row in rows),
        in_future=header.is_future,
    )
    return Standing(header=header, state=state.value, deliveries=deliveries)


def _delivery(header: Header, row: tuple[Any, ...]) -> DeliveryStanding:
    status = DeliveryStatus(row[2])
    is_pending = status is DeliveryStatus.PENDING
    return DeliveryStanding(
        id=row[0],
        channel=Channel(row[1]),
        status=status,
        attempts=row[3],
        maybe_sent=row[5],
        reason=row[6],
        code=row[7],
        provider=row[8],
        updated_at=row[9],
        next_attempt_at=row[10] if is_pending else None,
        waiting_for=_waiting_for(header, status, reason=row[6], is_due=not row[11]),
    )


_WAITS_FOR = {
    "rate_limited": "quota",
    "quota": "quota",
    "account_busy": "provider",
    "breaker_open": "provider",
    "quiet_hours": "quiet_hours",
    "tenant_quiet_hours": "quiet_hours",
    "regional_hours": "quiet_hours",
    "snoozed": "snooze",
    order.REASON: "order",
    order.NEXT: "worker",
}


def _waiting_for(
    header: Header, status: DeliveryStatus, *, reason: str, is_due: bool
) -> str:
    """Name the view of an unfinished state: scheduled, queued, deferred, parked."""
    match status:
        case DeliveryStatus.PARKED:
            return "operator"
        case DeliveryStatus.PENDING if is_due:
            return "worker"
        case DeliveryStatus.PENDING if header.is_future:
            return "schedule"
        case DeliveryStatus.PENDING:
            return _WAITS_FOR.get(reason, "retry")
        case _:
            return ""
