"""What the pages of a notification, a delivery and a dead letter say about its life."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.utils.html import format_html

from audit.models import AuditEvent
from audit.timeline import timeline
from foundation.ids import public_id
from notifications.statuses import DeliveryStatus, NotificationState
from tenants.admin.newest_first import NEWEST
from tenants.admin.presenting import Table, link_to, moment, on_one_line, words

_D, _N = DeliveryStatus, NotificationState
# How good the news is.
DELIVERY_LABELS: Mapping[str, str] = {
    _D.PENDING: "info",
    _D.SENDING: "info",
    _D.PARKED: "warning",
    _D.SENT: "success",
    _D.DELIVERED: "success",
    _D.UNDELIVERED: "danger",
    _D.FAILED: "danger",
    _D.DEAD: "danger",
    _D.EXPIRED: "warning",
}
STATE_LABELS: Mapping[str, str] = {
    _N.SCHEDULED: "info",
    _N.ACCEPTED: "info",
    _N.IN_PROGRESS: "info",
    _N.COMPLETED: "success",
    _N.PARTLY_FAILED: "warning",
    _N.FAILED: "danger",
    _N.EXPIRED: "warning",
}


def trail(*, tenant_id: int, notification_id: UUID, about: UUID | None = None) -> Table:
    """Tell the life of a notification; rows of the delivery in question stand out."""
    events = timeline(tenant_id=tenant_id, notification_id=notification_id)
    return Table(
        title="Trail",
        headers=["When (UTC)", "What", "Delivery", "By", "Why", "Detail"],
        rows=[_row(event, about=about) for event in events[:NEWEST]],
    )


def _row(event: AuditEvent, *, about: UUID | None) -> list[str]:
    kind = event.kind
    if about is not None and event.delivery_id == about:
        kind = format_html("<strong>{}</strong>", kind)
    return [
        moment(event.created_at),
        kind,
        delivery_link(event.delivery_id) if event.delivery_id else "",
        event.actor,
        words(event.reason),
        on_one_line(event.detail),
    ]


def delivery_link(delivery_id: UUID) -> str:
    """Link to a delivery by its public id."""
    return link_to("notifications_delivery", delivery_id, public_id("dlv", delivery_id))


def notification_link(notification_id: UUID) -> str:
    """Link to a notification by its public id."""
    return link_to(
        "notifications_notification",
        notification_id,
        public_id("ntf", notification_id),
    )
