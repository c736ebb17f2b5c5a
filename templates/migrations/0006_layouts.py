"""E-mails stand in layouts of their tenant, as these were when they were approved."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import foundation.database_clock

# Letters were made with them; a tenant's layout changes by a new row.
KEEP = """
CREATE FUNCTION keep_layout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'layout % is final', OLD.id USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER layout_keep BEFORE UPDATE OR DELETE ON layout
  FOR EACH ROW EXECUTE FUNCTION keep_layout();
"""

FORGET = """
DROP TRIGGER layout_keep ON layout;
DROP FUNCTION keep_layout();
"""


class Migration(migrations.Migration):
    dependencies = [("templates", "0005_review")]
    operations = [
        migrations.CreateModel(
            name="Layout",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("number", models.PositiveIntegerField()),
                ("mjml", models.TextField()),
                ("edited_by", models.CharField(editable=False, max_length=150)),
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
                "db_table": "layout",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "name", "number"), name="layout_number_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name__regex", "^[a-z0-9][a-z0-9._-]*$")),
                        name="layout_name_is_a_label",
                    ),
                ],
            },
        ),
        migrations.RunSQL(KEEP, FORGET),
        migrations.AddField(
            "templatecontent",
            "layout_version",
            models.ForeignKey(
                db_index=False,
                editable=False,
                help_text="The one that was put around it.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="templates.layout",
            ),
        ),
    ]
