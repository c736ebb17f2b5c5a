"""The messages that wait for people inside the product."""

from __future__ import annotations

from django.db import models
from django.db.models import Index, Q, UniqueConstraint

from foundation.database_clock import AppNow


class InboxItem(models.Model):
    """One message in one person's inbox.

    It outlives the partitions of the notification that it came from: no foreign keys.
    """

    id = models.UUIDField(primary_key=True)
    tenant_id = models.BigIntegerField()
    user_id = models.CharField(max_length=128)
    notification_id = models.UUIDField()
    delivery_id = models.UUIDField()
    content = models.BinaryField(help_text="Title, body and link, sealed.")
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)
    read_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "inbox_item"
        constraints = [
            # A settlement that is repeated delivers nothing twice.
            UniqueConstraint(name="inbox_item_once_a_delivery", fields=["delivery_id"]),
        ]
        indexes = [
            # inbox.reading: a page, newest first
            Index(name="inbox_item_newest", fields=["tenant_id", "user_id", "-id"]),
            # inbox.reading: the number of unread
            Index(
                name="inbox_item_unread",
                fields=["tenant_id", "user_id"],
                condition=Q(read_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
