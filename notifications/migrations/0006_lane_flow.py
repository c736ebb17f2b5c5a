"""Which classes get through, for those who accept more of them."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0005_shares_of_tenants")]
    operations = [
        migrations.CreateModel(
            name="LaneFlow",
            fields=[
                ("lane", models.TextField(primary_key=True, serialize=False)),
                ("flowed_at", models.DateTimeField()),
            ],
            options={"db_table": "lane_flow"},
        ),
    ]
