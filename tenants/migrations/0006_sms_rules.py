"""Where a tenant's text messages may go, what they may cost, and alarms about them."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import foundation.database_clock


class Migration(migrations.Migration):
    dependencies = [("tenants", "0005_order")]
    operations = [
        migrations.AddField(
            "tenant",
            "sms_countries",
            models.CharField(
                max_length=1000,
                blank=True,
                default="",
                # Web processes of before this migration go on making tenants.
                db_default="",
                help_text="Countries to which it may send text messages, for example VN LA; * for every country. Empty: its default region, or without one the platform's default.",
            ),
        ),
        migrations.AddField(
            "tenant",
            "daily_sms_spend_cap",
            models.PositiveIntegerField(
                null=True,
                blank=True,
                help_text="What text messages may cost a day, in whole units of the currency in which the platform's prices are. Nothing is accepted beyond it, one-time passwords included. Empty: no cap; 0: nothing.",
            ),
        ),
        migrations.AddConstraint(
            "tenant",
            models.CheckConstraint(
                name="tenant_sms_countries_are_countries",
                condition=models.Q(
                    sms_countries__regex=r"^(\*|[A-Z]{2}( [A-Z]{2})*)?$"
                ),
            ),
        ),
        migrations.CreateModel(
            name="PumpingAlarm",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                ("country", models.CharField(blank=True, max_length=3)),
                ("prefix", models.CharField(max_length=12)),
                ("passed", models.BigIntegerField(default=0)),
                ("refused", models.BigIntegerField(default=0)),
                ("blocked", models.BigIntegerField(default=0)),
                (
                    "since",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
                (
                    "last_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
            ],
            options={
                "db_table": "pumping_alarm",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "prefix"), name="pumping_alarm_once_a_prefix"
                    )
                ],
            },
        ),
    ]
