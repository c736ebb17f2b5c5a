"""Order keys: which deliveries wait for one another, and in which order.

Nobody is blocked: the columns are empty, and so is the index.
"""

from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("notifications", "0007_due_for_polls_alone")]
    operations = [
        migrations.AddField("delivery", "order_key", models.BigIntegerField(null=True)),
        migrations.AddField(
            "outboxrow", "order_key", models.BigIntegerField(null=True)
        ),
        migrations.AddField("outboxrow", "order_at", models.DateTimeField(null=True)),
        AddIndexConcurrently(
            "outboxrow",
            models.Index(
                fields=["order_key", "order_at", "delivery_id"],
                condition=models.Q(order_key__isnull=False),
                name="outbox_order",
            ),
        ),
    ]
