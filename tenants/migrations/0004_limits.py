"""What a tenant is limited to, and what it has used of its days.

No model for the use: the key is composite.
"""

from __future__ import annotations

import django.core.validators
from django.db import migrations, models

QUOTAS = {
    "email": "e-mails",
    "sms": "text messages",
    "push": "push messages, one for each device",
    "in_app": "messages in the inbox",
}

# A row is updated for every block that a process takes: the room left keeps that update
# on its page.
USAGE = """
CREATE TABLE daily_usage (
  tenant_id bigint NOT NULL,
  channel text NOT NULL,
  day date NOT NULL,
  taken bigint NOT NULL CHECK (taken >= 0),
  CONSTRAINT daily_usage_pkey PRIMARY KEY (tenant_id, channel, day)
) WITH (fillfactor = 50);
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0003_idempotency_key")]
    operations = [
        migrations.AddField(
            "tenant",
            "requests_per_second",
            models.PositiveIntegerField(
                null=True,
                blank=True,
                validators=[django.core.validators.MinValueValidator(1)],
                help_text="Notifications that it may submit a second; ten seconds' worth may come at once. One-time passwords and test keys have as much again, each. Empty: the platform's default.",
            ),
        ),
        *(
            migrations.AddField(
                "tenant",
                f"daily_{channel}_quota",
                models.PositiveIntegerField(
                    null=True,
                    blank=True,
                    help_text=f"How many {messages} may be accepted a day, by the tenant's own time zone. Empty: as many as it likes; 0: none.",
                ),
            )
            for channel, messages in QUOTAS.items()
        ),
        migrations.AddConstraint(
            "tenant",
            models.CheckConstraint(
                name="tenant_may_make_requests",
                condition=models.Q(requests_per_second__gte=1),
            ),
        ),
        migrations.RunSQL(USAGE, "DROP TABLE daily_usage"),
    ]
