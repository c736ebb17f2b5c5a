"""E-mails are sent as approval made them: from MJML, with styles inlined."""

from __future__ import annotations

import django.db.models.lookups
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("templates", "0003_categories_of_tenants")]
    operations = [
        migrations.AddField(
            "templatecontent",
            "compiled",
            models.JSONField(
                editable=False,
                help_text="The parts as they are sent, where they were written otherwise.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            "templatecontent",
            models.CheckConstraint(
                name="template_content_compiled_is_an_object",
                condition=django.db.models.lookups.Exact(
                    models.Func(
                        "compiled",
                        function="jsonb_typeof",
                        output_field=models.TextField(),
                    ),
                    "object",
                ),
            ),
        ),
    ]
