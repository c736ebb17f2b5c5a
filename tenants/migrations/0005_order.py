"""Categories of which a tenant wants each person's messages one after the other."""

from __future__ import annotations

import django.contrib.postgres.fields
from django.db import migrations, models

CATEGORIES = ["otp", "transactional", "marketing"]


class Migration(migrations.Migration):
    dependencies = [("tenants", "0004_limits")]
    operations = [
        migrations.AddField(
            "tenant",
            "ordered_categories",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    max_length=20, choices=[(name, name) for name in CATEGORIES]
                ),
                blank=True,
                db_default=[],
                default=list,
                size=None,
                help_text="Of these, a person's messages go out one after the other, each waiting for the end of the one before, retries included; as well as those that ORDERED_CATEGORIES names for everybody.",
            ),
        ),
    ]
