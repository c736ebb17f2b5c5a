"""People, their addresses and devices, and what they do not want."""

from __future__ import annotations

import django.contrib.postgres.fields
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
            name="Recipient",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("user_id", models.CharField(max_length=128)),
                ("locale", models.CharField(blank=True, default="", max_length=35)),
                ("time_zone", models.CharField(blank=True, default="", max_length=64)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
                (
                    "updated_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
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
            ],
            options={
                "db_table": "recipient",
            },
        ),
        migrations.CreateModel(
            name="Device",
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
                (
                    "platform",
                    models.CharField(
                        choices=[
                            ("fcm", "FCM"),
                            ("apns", "APNs"),
                            ("webpush", "Web Push"),
                        ],
                        max_length=8,
                    ),
                ),
                ("token", models.BinaryField(help_text="Sealed.")),
                (
                    "key",
                    models.BinaryField(help_text="Keyed hash of platform and token."),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
                (
                    "last_seen_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
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
                (
                    "recipient",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="devices",
                        to="preferences.recipient",
                    ),
                ),
            ],
            options={
                "db_table": "device",
            },
        ),
        migrations.CreateModel(
            name="Address",
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
                (
                    "channel",
                    models.SmallIntegerField(
                        choices=[(1, "email"), (2, "sms"), (3, "push"), (4, "in_app")]
                    ),
                ),
                (
                    "typed",
                    models.BinaryField(help_text="As it was given to us, sealed."),
                ),
                (
                    "normalised",
                    models.BinaryField(help_text="As it is sent to, sealed."),
                ),
                (
                    "key",
                    models.BinaryField(
                        help_text="Keyed hash: equal for every spelling."
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("unverified", "Unverified"),
                            ("verified", "Verified"),
                            ("invalid", "Invalid"),
                            ("suppressed", "Suppressed"),
                        ],
                        default="unverified",
                        max_length=16,
                    ),
                ),
                ("position", models.SmallIntegerField(default=0)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
                (
                    "recipient",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="addresses",
                        to="preferences.recipient",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "addresses",
                "db_table": "address",
            },
        ),
        migrations.CreateModel(
            name="NotificationPreferences",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("user_id", models.CharField(max_length=128)),
                ("version", models.IntegerField()),
                (
                    "opt_outs",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16),
                        help_text="Channels.",
                        size=None,
                    ),
                ),
                ("quiet_hours", models.JSONField(blank=True, null=True)),
                (
                    "updated_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
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
            ],
            options={
                "verbose_name_plural": "notification preferences",
                "db_table": "notification_preferences",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "user_id"),
                        name="notification_preferences_once_a_user",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("user_id__regex", "^[A-Za-z0-9._:@-]{1,128}$")
                        ),
                        name="notification_preferences_user_id_is_well_formed",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("version__gte", 1)),
                        name="notification_preferences_version_is_counted",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "opt_outs__contained_by",
                                ["email", "sms", "push", "in_app"],
                            )
                        ),
                        name="notification_preferences_opt_outs_are_channels",
                    ),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="recipient",
            constraint=models.UniqueConstraint(
                fields=("tenant", "user_id"), name="recipient_once_a_tenant"
            ),
        ),
        migrations.AddConstraint(
            model_name="recipient",
            constraint=models.CheckConstraint(
                condition=models.Q(("user_id__regex", "^[A-Za-z0-9._:@-]{1,128}$")),
                name="recipient_user_id_is_well_formed",
            ),
        ),
        migrations.AddIndex(
            model_name="device",
            index=models.Index(fields=["recipient", "id"], name="device_of_recipient"),
        ),
        migrations.AddConstraint(
            model_name="device",
            constraint=models.UniqueConstraint(
                fields=("tenant", "key"), name="device_once_a_tenant"
            ),
        ),
        migrations.AddConstraint(
            model_name="device",
            constraint=models.CheckConstraint(
                condition=models.Q(("platform__in", ["fcm", "apns", "webpush"])),
                name="device_platform_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="address",
            constraint=models.UniqueConstraint(
                fields=("recipient", "channel", "key"), name="address_once_a_recipient"
            ),
        ),
        migrations.AddConstraint(
            model_name="address",
            constraint=models.CheckConstraint(
                condition=models.Q(("channel__in", [1, 2])),
                name="address_channel_has_addresses",
            ),
        ),
        migrations.AddConstraint(
            model_name="address",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["unverified", "verified", "invalid", "suppressed"])
                ),
                name="address_status_is_known",
            ),
        ),
    ]
