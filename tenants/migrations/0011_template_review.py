"""Tenants whose authors may not approve what they wrote."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0010_sms_characters")]
    operations = [
        migrations.AddField(
            "tenant",
            "reviews_templates",
            models.BooleanField(
                default=False,
                # Web processes of before this migration go on making tenants.
                db_default=False,
                help_text="A version of a template is approved only once it was submitted for review, and not by who last edited it.",
            ),
        ),
    ]
