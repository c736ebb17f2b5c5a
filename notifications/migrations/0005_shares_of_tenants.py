"""Each tenant's due rows of a class, in order: a backlog is shared out between tenants.

Nobody is blocked while the index is built, and nothing needs it before. What its
condition is for, see OutboxRow.
"""

from __future__ import annotations

from django.db import migrations, models

from notifications.migrations._indexes import AddIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("notifications", "0004_due_in_order")]
    operations = [
        AddIndex(
            "outboxrow",
            models.Index(
                fields=["priority", "channel", "tenant_id", "due_at", "delivery_id"],
                condition=models.Q(("priority__gte", 0)),
                name="outbox_by_tenant",
            ),
        ),
    ]
