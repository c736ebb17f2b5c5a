"""Rows of notifications as acceptance and its successors leave them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from foundation.ids import new_id, sibling_id
from notifications.statuses import FINISHED, STUCK, DeliveryStatus
from notifications.transitions import Fence
from providers.channels import Channel
from tenants.categories import Category, Priority


@dataclass(frozen=True, kw_only=True)
class Row:
    """A delivery to be written, with its notification, event and outbox row."""

    status: DeliveryStatus = DeliveryStatus.PENDING
    channel: Channel = Channel.EMAIL
    priority: Priority = Priority.NORMAL
    category: Category = Category.TRANSACTIONAL
    tenant_id: int = 1
    user_id: str = "usr_1"
    claim_count: int = 0
    attempt_count: int = 0
    maybe_sent: bool = False
    due_in: timedelta = timedelta(0)
    expires_at: datetime | None = None
    reason: str = ""


def insert(row: Row) -> Fence:
    """Write the row and what belongs to it; return its fence."""
    notification_id = new_id()
    delivery_id = sibling_id(notification_id)
    with connection.cursor() as cursor:
        _insert_notification(cursor, row, notification_id)
        _insert_delivery(cursor, row, notification_id, delivery_id)
        if row.status not in FINISHED:
            cursor.execute(
                "INSERT INTO outbox VALUES (%s, %s, %s, %s, %s,"
                " app_now() + make_interval(secs => %s), NULL)",
                [
                    delivery_id,
                    row.tenant_id,
                    row.channel.value,
                    row.priority.value,
                    row.claim_count,
                    row.due_in.total_seconds(),
                ],
            )
        if row.status in STUCK:
            cursor.execute(
                "INSERT INTO dead_letter VALUES (%s, %s, %s, %s, %s, %s, '', %s)",
                [
                    delivery_id,
                    notification_id,
                    row.tenant_id,
                    row.channel.value,
                    row.status.value,
                    row.reason,
                    row.attempt_count,
                ],
            )
    return Fence(delivery_id, row.claim_count)


def _insert_notification(cursor, row: Row, notification_id: UUID) -> None:
    cursor.execute(
        "INSERT INTO notification (id, tenant_id, user_id, template_version_id,"
        " content_hash, category, priority, locale, reference, is_test, accepted_by,"
        " send_at, expires_at) VALUES (%s, %s, %s, 1, '', %s, %s, '', '', false,"
        " 'service:test', app_now(), %s)",
        [
            notification_id,
            row.tenant_id,
            row.user_id,
            row.category.value,
            row.priority.value,
            row.expires_at,
        ],
    )
    _tell(cursor, row, "notification.accepted", notification_id, None)


def _insert_delivery(
    cursor, row: Row, notification_id: UUID, delivery_id: UUID
) -> None:
    cursor.execute(
        "INSERT INTO delivery (id, notification_id, tenant_id, channel, category,"
        " status, attempt_count, claim_count, maybe_sent, address_key, expires_at,"
        " retry_until, reason, finished_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s,"
        " '', %s, app_now() + interval '1 day', %s,"
        " CASE WHEN %s THEN app_now() END)",
        [
            delivery_id,
            notification_id,
            row.tenant_id,
            row.channel.value,
            row.category.value,
            row.status.value,
            row.attempt_count,
            row.claim_count,
            row.maybe_sent,
            row.expires_at,
            row.reason,
            row.status in FINISHED,
        ],
    )
    for _ in range(row.attempt_count):
        _tell(cursor, row, "delivery.retried", notification_id, delivery_id)
    if row.status not in {DeliveryStatus.PENDING, DeliveryStatus.SENDING}:
        kind = f"delivery.{row.status}"
        _tell(cursor, row, kind, notification_id, delivery_id)


def _tell(
    cursor, row: Row, kind: str, notification_id: UUID, delivery_id: UUID | None
) -> None:
    outcome = "transient_error" if kind == "delivery.retried" else None
    cursor.execute(
        "INSERT INTO audit_event (id, tenant_id, kind, actor, notification_id,"
        " delivery_id, reason, detail) VALUES (%s, %s, %s, 'test', %s, %s, '',"
        " jsonb_strip_nulls(jsonb_build_object('outcome', %s::text)))",
        [new_id(), row.tenant_id, kind, notification_id, delivery_id, outcome],
    )


def delivery_of(delivery_id: UUID) -> dict[str, Any]:
    """Read a delivery as a dict."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM delivery WHERE id = %s", [delivery_id])
        names = [column.name for column in cursor.description]
        return dict(zip(names, cursor.fetchone(), strict=True))


def outbox_of(delivery_id: UUID) -> tuple[int, datetime]:
    """Read (claim_count, due_at) of a delivery's outbox row."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT claim_count, due_at FROM outbox WHERE delivery_id = %s",
            [delivery_id],
        )
        row: tuple[int, datetime] = cursor.fetchone()
        return row
