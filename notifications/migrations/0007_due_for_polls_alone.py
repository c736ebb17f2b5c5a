"""Let nothing but polls find rows by their due date.

Nobody is blocked, and until the new index is there the old one finds the rows. The
condition is always true; what it is for, see OutboxRow.
"""

from __future__ import annotations

from django.db import migrations, models

from notifications.migrations._indexes import AddIndex, RemoveIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("notifications", "0006_lane_flow")]
    operations = [
        AddIndex(
            "outboxrow",
            models.Index(
                fields=["priority", "channel", "due_at", "delivery_id"],
                condition=models.Q(("priority__gte", 0)),
                name="outbox_due_for_polls",
            ),
        ),
        RemoveIndex("outboxrow", "outbox_due"),
        migrations.RenameIndex(
            "outboxrow", old_name="outbox_due_for_polls", new_name="outbox_due"
        ),
    ]
