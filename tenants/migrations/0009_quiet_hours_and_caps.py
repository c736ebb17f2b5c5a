"""When a tenant's messages disturb nobody, and how many of a category a person gets."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0008_categories")]
    operations = [
        migrations.AddField(
            model_name="tenant",
            name="quiet_hours",
            field=models.TextField(
                max_length=1000,
                blank=True,
                default="",
                db_default="",
                help_text="When its messages disturb nobody, by the clock where each person is:"
                " one window a line, for example mon-fri 21:00-08:00, sat,sun 00:00-24:00 or"
                " daily 22:00-07:00. What is mandatory and urgent alerts go out all the same.",
            ),
        ),
        migrations.AddField(
            model_name="tenantcategory",
            name="most_messages",
            field=models.PositiveSmallIntegerField(
                null=True,
                blank=True,
                validators=[MinValueValidator(1)],
                help_text="How many of them a person gets in so many hours, on whatever"
                " channel; the next ones are suppressed. Empty: no cap.",
            ),
        ),
        migrations.AddField(
            model_name="tenantcategory",
            name="most_in_hours",
            field=models.PositiveSmallIntegerField(
                null=True, blank=True, validators=[MinValueValidator(1)]
            ),
        ),
        migrations.AddConstraint(
            model_name="tenantcategory",
            constraint=models.CheckConstraint(
                name="tenant_category_cap_is_whole",
                condition=models.Q(most_messages=None, most_in_hours=None)
                | models.Q(most_messages__isnull=False, most_in_hours__isnull=False)
                & models.Q(most_messages__gte=1, most_in_hours__gte=1),
                violation_error_message="A cap says how many and in how many hours.",
            ),
        ),
        migrations.AddConstraint(
            model_name="tenantcategory",
            constraint=models.CheckConstraint(
                name="tenant_category_mandatory_has_no_cap",
                condition=~models.Q(legal_class="mandatory")
                | models.Q(most_messages=None),
                violation_error_message="What is mandatory has no cap.",
            ),
        ),
    ]
