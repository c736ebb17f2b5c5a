"""Read the trail of one notification in the order it was written."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from audit.models import AuditEvent


def timeline(*, tenant_id: int, notification_id: UUID) -> QuerySet[AuditEvent]:
    """List every event about a notification and its deliveries, oldest first."""
    return AuditEvent.objects.filter(
        tenant_id=tenant_id, notification_id=notification_id
    ).order_by("created_at", "id")
