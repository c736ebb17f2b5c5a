"""A template may be of any category of its tenant, not of the built-in ones alone."""

from __future__ import annotations

from django.db import migrations, models

EXISTS = """
ALTER TABLE template ADD CONSTRAINT template_category_exists
  FOREIGN KEY (tenant_id, category) REFERENCES tenant_category (tenant_id, name)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("templates", "0002_approved_is_final"),
        ("tenants", "0008_categories"),
    ]
    operations = [
        migrations.AlterField("template", "category", models.CharField(max_length=32)),
        migrations.RunSQL(
            EXISTS, "ALTER TABLE template DROP CONSTRAINT template_category_exists"
        ),
    ]
