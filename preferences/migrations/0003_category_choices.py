"""What a person wants of each category, and until when nothing."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("preferences", "0001_initial")]
    operations = [
        migrations.AddField(
            "notificationpreferences",
            "category_choices",
            models.JSONField(
                default=dict,
                # Web processes of before this migration go on storing preferences.
                db_default=models.Value({}, output_field=models.JSONField()),
                blank=True,
                help_text="Whether a category is wanted, by its name and the channel.",
            ),
        ),
        migrations.AddField(
            "notificationpreferences",
            "snoozed_until",
            models.DateTimeField(null=True, blank=True),
        ),
    ]
