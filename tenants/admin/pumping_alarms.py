"""Where one-time passwords pour into numbers that begin alike, for tenants' staff."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import admin

from foundation.database_clock import database_now
from tenants.admin.presenting import label
from tenants.admin.scoping import TenantFilter, TenantScopedAdmin
from tenants.models import PumpingAlarm

# The windows that raise an alarm are this long.
_GOES_ON_FOR = timedelta(minutes=10)


@admin.register(PumpingAlarm)
class PumpingAlarmAdmin(TenantScopedAdmin):
    """Alarms come and go by themselves; staff look at them and change limits."""

    ordering = ("-last_at", "-id")
    list_display = (
        "numbers",
        "country",
        "tenant",
        "state",
        "passed",
        "refused",
        "blocked",
        "since",
        "last_at",
    )
    list_display_links = None
    list_filter = (TenantFilter,)
    list_select_related = ("tenant",)

    @admin.display(description="numbers")
    def numbers(self, obj: PumpingAlarm) -> str:
        """Show how the numbers begin."""
        return str(obj)

    @admin.display(description="state")
    def state(self, obj: PumpingAlarm) -> str:
        """Show whether it goes on."""
        is_over = obj.last_at < database_now() - _GOES_ON_FOR
        state = "over" if is_over else "goes on"
        return label(state, {"goes on": "danger", "over": "success"})
