"""What people of other languages are shown for a category."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0012_size_check")]
    operations = [
        migrations.AddField(
            model_name="tenantcategory",
            name="labels",
            field=models.JSONField(
                default=dict,
                db_default=models.Value({}, output_field=models.JSONField()),
                blank=True,
                help_text='The label in other languages, for example {"vi": "Mẹo hàng tuần"}.',
            ),
        ),
    ]
