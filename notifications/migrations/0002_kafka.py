"""What the Kafka transport remembers: rejected records and the topics it has seen."""

from __future__ import annotations

from django.db import migrations, models

import foundation.database_clock


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="RejectedRecord",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("topic", models.TextField()),
                ("partition", models.IntegerField()),
                ("record_offset", models.BigIntegerField()),
                ("reason", models.TextField()),
                ("octets", models.BinaryField(help_text="Its first kilobyte.")),
                ("size", models.IntegerField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=foundation.database_clock.AppNow()),
                ),
            ],
            options={"db_table": "rejected_record"},
        ),
        migrations.CreateModel(
            name="SeenTopic",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("topic_id", models.TextField()),
                (
                    "seen_at",
                    models.DateTimeField(db_default=foundation.database_clock.AppNow()),
                ),
            ],
            options={"db_table": "seen_topic"},
        ),
    ]
