"""The order in which rows of one due date are taken: that of their acceptance.

Nobody is blocked, and until the new index is there the old one finds the rows.
"""

from __future__ import annotations

from django.db import migrations, models

from notifications.migrations._indexes import AddIndex, RemoveIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("notifications", "0003_dead_letter_provider")]
    operations = [
        AddIndex(
            "outboxrow",
            models.Index(
                fields=["priority", "channel", "due_at", "delivery_id"],
                name="outbox_due_in_order",
            ),
        ),
        RemoveIndex("outboxrow", "outbox_due"),
        migrations.RenameIndex(
            "outboxrow", old_name="outbox_due_in_order", new_name="outbox_due"
        ),
    ]
