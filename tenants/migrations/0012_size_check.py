"""Whether a tenant's messages are rendered before they are accepted."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0011_template_review")]
    operations = [
        migrations.AddField(
            model_name="tenant",
            name="checks_sizes",
            field=models.BooleanField(
                "refuse what comes out too large",
                default=False,
                db_default=False,
                help_text="Messages are rendered before they are accepted. Texts of more than"
                " ten segments, pushes of more than 4 kB, HTML that Gmail would clip, and"
                " what cannot be rendered are refused with the reason. Takes a little longer.",
            ),
        ),
    ]
