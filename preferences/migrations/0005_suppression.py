"""The addresses that nothing may be sent to any more, by keyed hash."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import foundation.database_clock
import foundation.ids

CHANNELS = [(1, "email"), (2, "sms"), (3, "push"), (4, "in_app")]
REASONS = ["hard_bounce", "complaint", "stop", "legal_request"]


class Migration(migrations.Migration):
    dependencies = [
        ("preferences", "0004_consent_event"),
        ("tenants", "0008_categories"),
    ]
    operations = [
        migrations.CreateModel(
            name="Suppression",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        primary_key=True,
                        default=foundation.ids.new_id,
                        editable=False,
                        serialize=False,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                ("channel", models.SmallIntegerField(choices=CHANNELS)),
                (
                    "key",
                    models.BinaryField(
                        editable=False, help_text="Keyed hash of the address."
                    ),
                ),
                (
                    "category",
                    models.CharField(
                        max_length=32,
                        blank=True,
                        default="",
                        help_text="Empty: whatever the category.",
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        max_length=16, choices=[(each, each) for each in REASONS]
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
                ("created_by", models.CharField(max_length=150, editable=False)),
                ("lifted_at", models.DateTimeField(null=True, editable=False)),
                (
                    "lifted_by",
                    models.CharField(
                        max_length=150, blank=True, default="", db_default=""
                    ),
                ),
            ],
            options={
                "db_table": "suppression",
                "verbose_name": "suppressed address",
                "verbose_name_plural": "suppressed addresses",
                "constraints": [
                    models.UniqueConstraint(
                        name="suppression_once",
                        fields=["tenant", "channel", "key", "category", "reason"],
                        condition=models.Q(lifted_at__isnull=True),
                    ),
                    models.CheckConstraint(
                        name="suppression_reason_is_known",
                        condition=models.Q(reason__in=REASONS),
                    ),
                ],
            },
        ),
    ]
