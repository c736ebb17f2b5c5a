"""The in-app inbox."""

from __future__ import annotations

from django.db import migrations, models

import foundation.database_clock


class Migration(migrations.Migration):
    initial = True

    dependencies = [("tenants", "0001_database")]

    operations = [
        migrations.CreateModel(
            name="InboxItem",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant_id", models.BigIntegerField()),
                ("user_id", models.CharField(max_length=128)),
                ("notification_id", models.UUIDField()),
                ("delivery_id", models.UUIDField()),
                (
                    "content",
                    models.BinaryField(help_text="Title, body and link, sealed."),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
                ("read_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "inbox_item",
                "indexes": [
                    models.Index(
                        fields=["tenant_id", "user_id", "-id"], name="inbox_item_newest"
                    ),
                    models.Index(
                        condition=models.Q(("read_at__isnull", True)),
                        fields=["tenant_id", "user_id"],
                        name="inbox_item_unread",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("delivery_id",), name="inbox_item_once_a_delivery"
                    )
                ],
            },
        ),
        migrations.RunSQL("SELECT sample_little('inbox_item')", migrations.RunSQL.noop),
    ]
