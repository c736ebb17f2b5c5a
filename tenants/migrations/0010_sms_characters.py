"""Whether a tenant's text messages are written in the basic alphabet."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0009_quiet_hours_and_caps")]
    operations = [
        migrations.AddField(
            model_name="tenant",
            name="transliterates_sms",
            field=models.BooleanField(
                "write text messages in the basic alphabet",
                default=False,
                db_default=False,
                help_text="A segment then holds 160 characters and not 70. Letters lose their marks (Đơn hàng is sent as Don hàng) and quotation marks are made straight, but only where the whole message can be written so: one with an emoji stays as it is. The preview of a template shows what is replaced.",
            ),
        ),
    ]
