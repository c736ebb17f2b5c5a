"""The routes of tenants and the record of the sandbox."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import foundation.database_clock
import foundation.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tenants", "0002_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="SandboxMessage",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=foundation.ids.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("tenant_id", models.BigIntegerField()),
                ("notification_id", models.UUIDField()),
                ("delivery_id", models.UUIDField()),
                (
                    "channel",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "email"), (2, "sms"), (3, "push"), (4, "in_app")]
                    ),
                ),
                ("attempt", models.PositiveIntegerField()),
                ("outcome", models.CharField(max_length=16)),
                ("accepted", models.BooleanField()),
                ("sealed", models.BinaryField()),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
            ],
            options={
                "db_table": "sandbox_message",
                "indexes": [
                    models.Index(
                        fields=["tenant_id", "id"], name="sandbox_message_tenant"
                    ),
                    models.Index(
                        fields=["delivery_id"], name="sandbox_message_delivery"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProviderRoute",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "channel",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "email"), (2, "sms"), (3, "push"), (4, "in_app")]
                    ),
                ),
                (
                    "provider",
                    models.CharField(
                        help_text="An alias of settings.PROVIDERS.", max_length=64
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "provider_route",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "channel"),
                        name="provider_route_one_per_channel",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("channel__in", [1, 2, 3, 4])),
                        name="provider_route_channel_is_known",
                    ),
                ],
            },
        ),
        migrations.RunSQL(
            "SELECT sample_little('sandbox_message')", migrations.RunSQL.noop
        ),
    ]
