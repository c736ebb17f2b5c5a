"""Countries of people, zones of devices; whether an address is dead is said by the list
of suppressed ones."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("preferences", "0005_suppression")]
    operations = [
        migrations.AddField(
            model_name="recipient",
            name="country",
            field=models.CharField(
                max_length=2,
                blank=True,
                default="",
                db_default="",
                help_text="Where they live, for example VN.",
            ),
        ),
        migrations.AddConstraint(
            model_name="recipient",
            constraint=models.CheckConstraint(
                name="recipient_country_is_one",
                condition=models.Q(country__regex=r"^([A-Z]{2})?$"),
            ),
        ),
        migrations.AddField(
            model_name="device",
            name="time_zone",
            field=models.CharField(
                max_length=64,
                blank=True,
                default="",
                db_default="",
                help_text="Where it was when it was last seen.",
            ),
        ),
        migrations.RemoveConstraint(
            model_name="address", name="address_status_is_known"
        ),
        # Nothing ever wrote the two that go.
        migrations.AlterField(
            model_name="address",
            name="status",
            field=models.CharField(
                max_length=16,
                choices=[("unverified", "Unverified"), ("verified", "Verified")],
                default="unverified",
            ),
        ),
        migrations.AddConstraint(
            model_name="address",
            constraint=models.CheckConstraint(
                name="address_status_is_known",
                condition=models.Q(status__in=["unverified", "verified"]),
            ),
        ),
    ]
