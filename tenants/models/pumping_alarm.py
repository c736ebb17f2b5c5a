"""Suspicion that a tenant pays for traffic nobody wants."""

from __future__ import annotations

from django.db import models
from django.db.models import UniqueConstraint

from foundation.database_clock import AppNow
from tenants.models.tenant import Tenant


class PumpingAlarm(models.Model):
    """One-time passwords that pour into numbers of the same first digits.

    One row for each prefix of a tenant; it begins anew after a quiet hour.
    """

    id = models.BigAutoField(primary_key=True)
    # UNIQUE (tenant, prefix) serves the foreign key too.
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    country = models.CharField(max_length=3, blank=True)
    prefix = models.CharField(max_length=12)
    # Since the alarm: what was let through, what the limit refused, and what the
    # provider would not send.
    passed = models.BigIntegerField(default=0)
    refused = models.BigIntegerField(default=0)
    blocked = models.BigIntegerField(default=0)
    since = models.DateTimeField(db_default=AppNow(), editable=False)
    last_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "pumping_alarm"
        constraints = [
            UniqueConstraint(
                name="pumping_alarm_once_a_prefix", fields=["tenant", "prefix"]
            ),
        ]

    def __str__(self) -> str:
        return f"+{self.prefix}…"
