"""Who is the oldest of an order key. Nobody is blocked, and the index is empty."""

from __future__ import annotations

from django.db import migrations, models

from notifications.migrations._indexes import AddIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("notifications", "0008_order")]
    operations = [
        AddIndex(
            "outboxrow",
            models.Index(
                fields=["order_key", "order_at", "delivery_id"],
                condition=models.Q(order_key__isnull=False),
                name="outbox_order",
            ),
        ),
    ]
