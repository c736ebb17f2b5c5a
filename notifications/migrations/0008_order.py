"""Order keys: which deliveries wait for one another, and in which order.

The columns are empty, so no row is rewritten. All of them or none: a lock that is not
had in time undoes the others. The outbox is first, as in every other transaction.
"""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0007_due_for_polls_alone")]
    operations = [
        migrations.AddField(
            "outboxrow", "order_key", models.BigIntegerField(null=True)
        ),
        migrations.AddField("outboxrow", "order_at", models.DateTimeField(null=True)),
        migrations.AddField("delivery", "order_key", models.BigIntegerField(null=True)),
    ]
