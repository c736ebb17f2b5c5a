"""The append-only trail of every acceptance, decision, attempt and staff act."""

from __future__ import annotations

from django.db import models

from foundation.database_clock import AppNow
from foundation.ids import new_id


class AuditEvent(models.Model):
    """A fact; the role that runs the platform may add one and change none.

    The table is partitioned by ranges of the UUIDv7 id, by month.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    tenant_id = models.BigIntegerField()
    kind = models.TextField()
    actor = models.TextField()
    notification_id = models.UUIDField(null=True)
    delivery_id = models.UUIDField(null=True)
    reason = models.TextField(default="", blank=True)
    detail = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=AppNow())

    class Meta:
        db_table = "audit_event"
        indexes = [
            # timeline: everything about one notification and its deliveries
            models.Index(fields=["notification_id"], name="audit_event_notification"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
