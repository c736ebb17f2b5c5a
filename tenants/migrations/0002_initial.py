"""Tenants, their data keys, credentials of services and memberships of staff."""

from __future__ import annotations

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.lookups
from django.conf import settings
from django.db import migrations, models

import foundation.database_clock
import foundation.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tenants", "0001_database"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Tenant",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("slug", models.CharField(max_length=63, unique=True)),
                ("name", models.CharField(max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("suspended", "Suspended")],
                        default="active",
                        max_length=16,
                    ),
                ),
                ("default_locale", models.CharField(default="en", max_length=35)),
                (
                    "default_region",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Country of phone numbers written without one, for example VN.",
                        max_length=2,
                    ),
                ),
                ("time_zone", models.CharField(default="UTC", max_length=64)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
            ],
            options={
                "db_table": "tenant",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("slug__regex", "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
                        ),
                        name="tenant_slug_is_a_label",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["active", "suspended"])),
                        name="tenant_status_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("default_region__regex", "^([A-Z]{2})?$")),
                        name="tenant_default_region_is_a_country",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StaffMembership",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("operator", "Operator"),
                            ("author", "Author"),
                            ("approver", "Approver"),
                            ("administrator", "Administrator"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "staff_membership",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "tenant", "role"), name="staff_membership_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "role__in",
                                [
                                    "viewer",
                                    "operator",
                                    "author",
                                    "approver",
                                    "administrator",
                                ],
                            )
                        ),
                        name="staff_membership_role_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
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
                ("service", models.CharField(max_length=63)),
                (
                    "environment",
                    models.CharField(
                        choices=[("live", "Live"), ("test", "Test")], max_length=4
                    ),
                ),
                (
                    "prefix",
                    models.CharField(
                        help_text="The part shown to people.", max_length=16
                    ),
                ),
                ("digest", models.BinaryField(unique=True)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), size=None
                    ),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
                (
                    "created_by",
                    models.CharField(blank=True, default="", max_length=150),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "api_key",
                "indexes": [
                    models.Index(
                        condition=models.Q(("revoked_at__isnull", True)),
                        fields=["tenant", "service", "environment"],
                        name="api_key_live",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["live", "test"])),
                        name="api_key_environment_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("service__regex", "^[a-z][a-z0-9_-]*$")),
                        name="api_key_service_is_a_label",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("scopes__len__gte", 1)),
                        name="api_key_has_a_scope",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            models.Func(
                                "digest",
                                function="octet_length",
                                output_field=models.IntegerField(),
                            ),
                            32,
                        ),
                        name="api_key_digest_is_sha256",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TenantKey",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "purpose",
                    models.CharField(
                        choices=[("seal", "Seal"), ("index", "Index")], max_length=8
                    ),
                ),
                ("wrapped", models.BinaryField()),
                (
                    "created_at",
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
                "db_table": "tenant_key",
                "indexes": [
                    models.Index(
                        fields=["tenant", "purpose", "-id"], name="tenant_key_newest"
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("purpose__in", ["seal", "index"])),
                        name="tenant_key_purpose_is_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("purpose", "index")),
                        fields=("tenant",),
                        name="tenant_key_one_index_key",
                    ),
                ],
            },
        ),
    ]
