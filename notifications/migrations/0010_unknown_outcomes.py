"""What is known of calls whose outcome is not: when, how often, and until when it is
looked for. Constant defaults: no row is rewritten."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0009_order_index")]

    operations = [
        migrations.AddField(
            model_name="delivery",
            name="called_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="delivery",
            name="unknown_count",
            field=models.SmallIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="delivery",
            name="reconcile_until",
            field=models.DateTimeField(null=True),
        ),
    ]
