"""Decide which provider serves a tenant on a channel."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from providers.channels import Channel
from providers.models import ProviderRoute
from tenants.process_cache import ProcessCache

_remembered: ProcessCache[int, Mapping[Channel, str]] = ProcessCache(
    size=10_000, lifetime=timedelta(seconds=5)
)


@dataclass(frozen=True, slots=True)
class RouteTable:
    """The routes of the tenants of one batch."""

    by_tenant: Mapping[int, Mapping[Channel, str]]

    def alias(self, *, tenant_id: int, channel: Channel, is_test: bool) -> str:
        """Return who is to be called: the sandbox alone for what a test key sent."""
        if is_test:
            return settings.TEST_PROVIDER
        own = self.by_tenant[tenant_id].get(channel)
        return own or settings.PROVIDER_ROUTES[channel.key]


def load_routes(tenant_ids: Collection[int]) -> RouteTable:
    """Read the routes of these tenants; a change is seen within five seconds."""
    routes: dict[int, Mapping[Channel, str]] = {}
    missing: set[int] = set()
    for tenant_id in tenant_ids:
        known = _remembered.get(tenant_id)
        if known is None:
            missing.add(tenant_id)
        else:
            routes[tenant_id] = known
    return RouteTable(routes | _read(missing)) if missing else RouteTable(routes)


def forget_routes() -> None:
    """Drop what this process remembers."""
    _remembered.clear()


def _read(tenant_ids: Collection[int]) -> dict[int, dict[Channel, str]]:
    routes: dict[int, dict[Channel, str]] = {known: {} for known in tenant_ids}
    rows = ProviderRoute.objects.filter(tenant_id__in=tenant_ids).values_list(
        "tenant_id", "channel", "provider"
    )
    for tenant_id, channel, provider in rows:
        routes[tenant_id][Channel(channel)] = provider
    for tenant_id, own in routes.items():
        _remembered.put(tenant_id, own)
    return routes
