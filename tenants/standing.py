"""Whether a tenant may use the platform just now."""

from __future__ import annotations

from datetime import timedelta

from tenants.models import Tenant
from tenants.process_cache import ProcessCache


class TenantSuspended(Exception):
    """The tenant is suspended."""


class UnknownTenant(LookupError):
    """There is no such tenant."""


# A suspension is effective within 5 s: this long at most, and a request's life.
_active: ProcessCache[int, bool] = ProcessCache(
    size=10_000, lifetime=timedelta(seconds=3)
)


def check_standing(*, tenant_id: int) -> None:
    """Raise TenantSuspended or UnknownTenant; ask the database every 3 s at most."""
    if _active.get(tenant_id):
        return
    status = (
        Tenant.objects.filter(pk=tenant_id).values_list("status", flat=True).first()
    )
    if status is None:
        raise UnknownTenant(f"tenant {tenant_id}")
    if status != Tenant.Status.ACTIVE:
        raise TenantSuspended
    _active.put(tenant_id, True)
