"""Take a new tenant on board."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from tenants.data_keys import wrap_new_secret
from tenants.models import Tenant, TenantKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where a tenant's people are, unless they say otherwise."""

    locale: str = "en"
    region: str = ""
    time_zone: str = "UTC"


def create_tenant(*, slug: str, name: str, home: Home | None = None) -> Tenant:
    """Make a tenant together with its data keys."""
    home = home or Home()
    with transaction.atomic():
        tenant = Tenant.objects.create(
            slug=slug,
            name=name,
            default_locale=home.locale,
            default_region=home.region,
            time_zone=home.time_zone,
        )
        for purpose in TenantKey.Purpose:
            add_tenant_key(tenant_id=tenant.pk, purpose=purpose)
    return tenant


def add_tenant_key(*, tenant_id: int, purpose: TenantKey.Purpose) -> TenantKey:
    """Make a data key; a new sealing key takes over, the old ones still open."""
    return TenantKey.objects.create(
        tenant_id=tenant_id,
        purpose=purpose,
        wrapped=wrap_new_secret(tenant_id=tenant_id, purpose=purpose),
    )
