"""The closed list of what the audit trail can say, widest word first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID


class EventKind(StrEnum):
    """What happened; one row of the trail is one of these."""

    NOTIFICATION_ACCEPTED = "notification.accepted"
    NOTIFICATION_CANCEL_ASKED = "notification.cancel_asked"
    # One row per arrow that a delivery takes.
    DELIVERY_SUPPRESSED = "delivery.suppressed"
    DELIVERY_SENT = "delivery.sent"
    DELIVERY_RETRIED = "delivery.retried"
    DELIVERY_SNOOZED = "delivery.snoozed"
    DELIVERY_FAILED = "delivery.failed"
    DELIVERY_DEAD = "delivery.dead"
    DELIVERY_PARKED = "delivery.parked"
    DELIVERY_EXPIRED = "delivery.expired"
    DELIVERY_CANCELLED = "delivery.cancelled"
    DELIVERY_REPLAYED = "delivery.replayed"
    # The provider was asked what became of a call; an arrow may follow it.
    DELIVERY_LOOKED_UP = "delivery.looked_up"
    # An attempt whose worker vanished: its outcome is unknown for good.
    DELIVERY_ATTEMPT_LOST = "delivery.attempt_lost"
    # An answer that came after another worker had taken the delivery over.
    DELIVERY_LATE_ANSWER = "delivery.late_answer"
    TEMPLATE_SUBMITTED = "template.submitted"
    TEMPLATE_SENT_BACK = "template.sent_back"
    TEMPLATE_APPROVED = "template.approved"
    LAYOUT_SAVED = "layout.saved"
    # Approved again, under a new number.
    TEMPLATE_ROLLED_BACK = "template.rolled_back"
    TEMPLATE_RETIRED = "template.retired"
    DEVICE_MOVED = "device.moved"
    # Its provider knows the token no longer.
    DEVICE_DIED = "device.died"
    PREFERENCES_CHANGED = "preferences.changed"
    SUPPRESSION_ADDED = "suppression.added"
    SUPPRESSION_LIFTED = "suppression.lifted"
    ROUTES_CHANGED = "tenant.routes_changed"
    TENANT_CREATED = "tenant.created"
    TENANT_LIMITS_CHANGED = "tenant.limits_changed"
    TENANT_ORDER_CHANGED = "tenant.order_changed"
    TENANT_QUIET_HOURS_CHANGED = "tenant.quiet_hours_changed"
    TENANT_ALPHABET_CHANGED = "tenant.alphabet_changed"
    TENANT_SIZE_CHECK_CHANGED = "tenant.size_check_changed"
    TENANT_REVIEW_CHANGED = "tenant.review_changed"
    CATEGORY_CREATED = "tenant.category_created"
    CATEGORY_CHANGED = "tenant.category_changed"
    API_KEY_ISSUED = "api_key.issued"
    API_KEY_REVOKED = "api_key.revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """One event to be written; `detail` never holds personal data."""

    kind: EventKind
    tenant_id: int
    actor: str
    notification_id: UUID | None = None
    delivery_id: UUID | None = None
    reason: str = ""
    detail: Mapping[str, object] = field(default_factory=dict)
