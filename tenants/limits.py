"""What a tenant is limited to and has chosen, as the processes that accept know it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

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
LIMIT_FIELDS = (
    "requests_per_second",
    *QUOTA_FIELDS.values(),
    "sms_countries",
    "daily_sms_spend_cap",
)
# Beside the channels: what a day's text messages cost, in millionths.
SMS_SPEND = "sms_spend"
MILLIONTHS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A tenant's limits; a channel that has no quota is not in `daily_quotas`."""

    requests_per_second: int
    daily_quotas: Mapping[str, int]
    # Where text messages may go; None is everywhere.
    sms_countries: frozenset[str] | None
    # A day is the tenant's own.
    time_zone: str
    default_region: str
    # Lines, as foundation.quiet_windows reads them.
    quiet_hours: str
    ordered_categories: frozenset[str]
    # Whether its text messages are written in the basic alphabet where they can be.
    transliterates_sms: bool
    checks_sizes: bool


_limits: ProcessCache[int, Limits] = ProcessCache(
    size=10_000, lifetime=timedelta(seconds=5)
)


def limits_of(*, tenant_id: int) -> Limits:
    """Return a tenant's limits; a change is noticed within 5 s."""
    found = limits_of_many([tenant_id])
    if not found:
        raise Tenant.DoesNotExist(f"tenant {tenant_id}")
    return found[tenant_id]


def keeps_order(*, tenant_id: int, category: Category) -> bool:
    """Tell whether a person's messages of a category go out one after the other."""
    if category in settings.ORDERED_CATEGORIES:
        return True
    return category in limits_of(tenant_id=tenant_id).ordered_categories


def limits_of_many(tenant_ids: Collection[int]) -> dict[int, Limits]:
    """Return the limits of those tenants that there are, with one query at most."""
    cached = ((tenant_id, _limits.get(tenant_id)) for tenant_id in set(tenant_ids))
    found = {tenant_id: limits for tenant_id, limits in cached if limits is not None}
    if missing := set(tenant_ids) - found.keys():
        rows = Tenant.objects.filter(pk__in=missing).values(
            "pk",
            "time_zone",
            "default_region",
            "quiet_hours",
            "ordered_categories",
            "transliterates_sms",
            "checks_sizes",
            *LIMIT_FIELDS,
        )
        for row in rows:
            found[row["pk"]] = _limits_in(row)
            _limits.put(row["pk"], found[row["pk"]])
    return found


def _limits_in(row: Mapping[str, Any]) -> Limits:
    quotas = {channel: row[field] for channel, field in QUOTA_FIELDS.items()}
    cap = row["daily_sms_spend_cap"]
    quotas[SMS_SPEND] = None if cap is None else cap * MILLIONTHS
    countries = row["sms_countries"] or row["default_region"] or settings.SMS_COUNTRIES
    return Limits(
        requests_per_second=row["requests_per_second"] or settings.TENANT_RATE,
        daily_quotas={
            channel: quota for channel, quota in quotas.items() if quota is not None
        },
        sms_countries=None if countries == "*" else frozenset(countries.split()),
        time_zone=row["time_zone"],
        default_region=row["default_region"],
        quiet_hours=row["quiet_hours"],
        ordered_categories=frozenset(row["ordered_categories"]),
        transliterates_sms=row["transliterates_sms"],
        checks_sizes=row["checks_sizes"],
    )
