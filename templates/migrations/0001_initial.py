"""Templates, their versions, and contents by channel and locale."""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.lookups
from django.db import migrations, models

import foundation.database_clock


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tenants", "0002_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Template",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                (
                    "category",
                    models.CharField(
                        choices=[
                            ("otp", "otp"),
                            ("transactional", "transactional"),
                            ("marketing", "marketing"),
                        ],
                        max_length=32,
                    ),
                ),
                ("description", models.TextField(blank=True, default="")),
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
                "db_table": "template",
            },
        ),
        migrations.CreateModel(
            name="TemplateVersion",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("approved", "Approved"),
                            ("retired", "Retired"),
                        ],
                        default="draft",
                        max_length=16,
                    ),
                ),
                ("schema", models.JSONField(help_text="JSON Schema of the variables.")),
                (
                    "sample",
                    models.JSONField(
                        blank=True,
                        help_text="Variables to try the contents with.",
                        null=True,
                    ),
                ),
                ("default_locale", models.CharField(max_length=35)),
                ("content_hash", models.BinaryField(null=True)),
                ("approved_at", models.DateTimeField(editable=False, null=True)),
                (
                    "approved_by",
                    models.CharField(
                        blank=True, default="", editable=False, max_length=150
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
                (
                    "template",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="templates.template",
                    ),
                ),
            ],
            options={
                "db_table": "template_version",
            },
        ),
        migrations.CreateModel(
            name="TemplateContent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "channel",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "email"), (2, "sms"), (3, "push"), (4, "in_app")]
                    ),
                ),
                ("locale", models.CharField(max_length=35)),
                (
                    "parts",
                    models.JSONField(
                        help_text="Text by part: subject, text, html, title, …"
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="contents",
                        to="templates.templateversion",
                    ),
                ),
            ],
            options={
                "db_table": "template_content",
            },
        ),
        migrations.AddConstraint(
            model_name="template",
            constraint=models.UniqueConstraint(
                fields=("tenant", "name"), name="template_name_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="template",
            constraint=models.CheckConstraint(
                condition=models.Q(("name__regex", "^[a-z0-9][a-z0-9._-]*$")),
                name="template_name_is_a_label",
            ),
        ),
        migrations.AddConstraint(
            model_name="templateversion",
            constraint=models.UniqueConstraint(
                fields=("template", "number"), name="template_version_number_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="templateversion",
            constraint=models.CheckConstraint(
                condition=models.Q(("number__gte", 1)),
                name="template_version_number_is_positive",
            ),
        ),
        migrations.AddConstraint(
            model_name="templateversion",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("approved_at__isnull", True),
                        ("content_hash__isnull", True),
                        ("status", "draft"),
                    ),
                    models.Q(
                        ("approved_at__isnull", False),
                        ("content_hash__isnull", False),
                        ("status__in", ["approved", "retired"]),
                    ),
                    _connector="OR",
                ),
                name="template_version_approval_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="templateversion",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.Func(
                        "schema",
                        function="jsonb_typeof",
                        output_field=models.TextField(),
                    ),
                    "object",
                ),
                name="template_version_schema_is_an_object",
            ),
        ),
        migrations.AddConstraint(
            model_name="templateversion",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.Func(
                        "sample",
                        function="jsonb_typeof",
                        output_field=models.TextField(),
                    ),
                    "object",
                ),
                name="template_version_sample_is_an_object",
            ),
        ),
        migrations.AddConstraint(
            model_name="templateversion",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.Func(
                        "content_hash",
                        function="octet_length",
                        output_field=models.IntegerField(),
                    ),
                    32,
                ),
                name="template_version_hash_is_sha256",
            ),
        ),
        migrations.AddConstraint(
            model_name="templatecontent",
            constraint=models.UniqueConstraint(
                fields=("version", "channel", "locale"), name="template_content_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="templatecontent",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.Func(
                        "parts",
                        function="jsonb_typeof",
                        output_field=models.TextField(),
                    ),
                    "object",
                ),
                name="template_content_parts_are_an_object",
            ),
        ),
    ]
