"""Accounts that refuse us, and several providers for a channel."""

from __future__ import annotations

import django.core.validators
from django.db import migrations, models

import foundation.database_clock


class Migration(migrations.Migration):
    dependencies = [
        ("providers", "0001_initial"),
        ("tenants", "0003_idempotency_key"),
    ]

    operations = [
        migrations.CreateModel(
            name="AccountFault",
            fields=[
                (
                    "provider",
                    models.CharField(max_length=64, primary_key=True, serialize=False),
                ),
                ("code", models.TextField(blank=True, default="")),
                (
                    "first_at",
                    models.DateTimeField(db_default=foundation.database_clock.AppNow()),
                ),
                (
                    "last_at",
                    models.DateTimeField(db_default=foundation.database_clock.AppNow()),
                ),
                ("next_probe_at", models.DateTimeField()),
                ("probes", models.PositiveIntegerField(db_default=0)),
                ("mended_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "account_fault",
            },
        ),
        migrations.RemoveConstraint(
            model_name="providerroute",
            name="provider_route_one_per_channel",
        ),
        migrations.AddField(
            model_name="providerroute",
            name="tier",
            field=models.PositiveSmallIntegerField(
                default=1,
                help_text="The lowest comes first; a higher one stands in for it.",
            ),
        ),
        migrations.AddField(
            model_name="providerroute",
            name="weight",
            field=models.PositiveSmallIntegerField(
                default=1,
                validators=[django.core.validators.MinValueValidator(1)],
                help_text="Its part of the traffic, beside others of its tier.",
            ),
        ),
        migrations.AddConstraint(
            model_name="providerroute",
            constraint=models.UniqueConstraint(
                fields=("tenant", "channel", "provider"),
                name="provider_route_once_per_channel",
            ),
        ),
        migrations.AddConstraint(
            model_name="providerroute",
            constraint=models.CheckConstraint(
                condition=models.Q(("weight__gt", 0)),
                name="provider_route_weight_is_positive",
            ),
        ),
    ]
