"""What a tenant is limited to and has chosen, as the processes that accept know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from tenants.categories import Category
from tenants.models import Tenant
from tenants.process_cache import ProcessCache

# By the key of the channel.
QUOTA_FIELDS = {
    "email": "daily_email_quota",
    "sms": "daily_sms_quota",
    "push": "daily_push_quota",
    "in_app": "daily_in_app_quota",
}
LIMIT_FIELDS = ("requests_per_second", *QUOTA_FIELDS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A tenant's limits; a channel that has no quota is not in `daily_quotas`."""

    requests_per_second: int
    daily_quotas: Mapping[str, int]
    # A day is the tenant's own.
    time_zone: str
    ordered_categories: frozenset[str]


_limits: ProcessCache[int, Limits] = ProcessCache(
    size=10_000, lifetime=timedelta(seconds=5)
)


def limits_of(*, tenant_id: int) -> Limits:
    """Return a tenant's limits; a change is noticed within 5 s."""
    limits = _limits.get(tenant_id)
    if limits is None:
        limits = _read(tenant_id)
        _limits.put(tenant_id, limits)
    return limits


def keeps_order(*, tenant_id: int, category: Category) -> bool:
    """Tell whether a person's messages of a category go out one after the other."""
    if category in settings.ORDERED_CATEGORIES:
        return True
    return category in limits_of(tenant_id=tenant_id).ordered_categories


def _read(tenant_id: int) -> Limits:
    fields = ("time_zone", "ordered_categories", *LIMIT_FIELDS)
    row = Tenant.objects.values(*fields).get(pk=tenant_id)
    quotas = {channel: row[field] for channel, field in QUOTA_FIELDS.items()}
    return Limits(
        requests_per_second=row["requests_per_second"] or settings.TENANT_RATE,
        daily_quotas={
            channel: quota for channel, quota in quotas.items() if quota is not None
        },
        time_zone=row["time_zone"],
        ordered_categories=frozenset(row["ordered_categories"]),
    )
