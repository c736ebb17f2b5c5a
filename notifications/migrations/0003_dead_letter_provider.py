"""The provider that a dead letter waits for."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0002_kafka"),
    ]

    operations = [
        migrations.AddField(
            model_name="deadletter",
            name="provider",
            field=models.TextField(blank=True, db_default=""),
        ),
        migrations.AddIndex(
            model_name="deadletter",
            index=models.Index(
                condition=models.Q(("reason", "account_fault")),
                fields=["provider", "delivery_id"],
                name="dead_letter_account_fault",
            ),
        ),
    ]
