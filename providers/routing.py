"""Decide which provider serves a tenant on a channel, and who stands in for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from typing import TypeAlias
from uuid import UUID

from django.conf import settings

from providers.channels import Channel
from providers.models import ProviderRoute
from tenants.process_cache import ProcessCache

# Who shares the traffic, by weight; the next tier stands in for all of them.
Tier: TypeAlias = Mapping[str, float]
_remembered: ProcessCache[int, Mapping[Channel, Route]] = ProcessCache(
    size=10_000, lifetime=timedelta(seconds=5)
)


@dataclass(frozen=True, slots=True)
class Route:
    """The providers of a channel, the preferred tier first."""

    tiers: tuple[Tier, ...]

    @property
    def providers(self) -> tuple[str, ...]:
        """Return all of them, in order."""
        return tuple(alias for tier in self.tiers for alias in tier)

    def order(self, delivery_id: UUID) -> tuple[str, ...]:
        """Return whom to try first, second and so on; the same for every attempt.

        Within a tier a provider comes first as often as its weight says: the greatest
        of u^(1/weight) (Efraimidis and Spirakis, 2006), u drawn from the delivery's id.
        """
        if len(self.tiers) == 1 and len(self.tiers[0]) == 1:
            return self.providers
        return tuple(
            alias
            for tier in self.tiers
            for alias in sorted(
                tier,
                key=lambda alias: _draw(delivery_id, alias) ** (1 / tier[alias]),
                reverse=True,
            )
        )


def _draw(delivery_id: UUID, alias: str) -> float:
    """Draw a number in (0, 1) that belongs to this delivery and provider."""
    octets = blake2b(alias.encode(), key=delivery_id.bytes, digest_size=8).digest()
    return (int.from_bytes(octets) + 1) / (2**64 + 1)


def choose(
    order: Sequence[str],
    *,
    after: str,
    resting: Collection[str],
    faulty: Collection[str],
) -> str:
    """Return who comes next after a failure of `after` (empty before the first try).

    If nobody is well, it is who only rests: he will be back by himself.
    """
    first = order.index(after) + 1 if after in order else 0
    turns = [*order[first:], *order[:first]]
    bearable = [alias for alias in turns if alias not in faulty] or turns
    return next((alias for alias in bearable if alias not in resting), bearable[0])


def parse_route(entry: str | Sequence[Tier]) -> Route:
    """Read an entry of settings.PROVIDER_ROUTES: an alias, or tiers of weights."""
    return Route(({entry: 1.0},) if isinstance(entry, str) else tuple(entry))


@dataclass(frozen=True, slots=True)
class RouteTable:
    """The routes of the tenants of one batch."""

    by_tenant: Mapping[int, Mapping[Channel, Route]]

    def route(self, *, tenant_id: int, channel: Channel, is_test: bool) -> Route:
        """Return who is to be called: the sandbox alone for what a test key sent."""
        if is_test:
            return parse_route(settings.TEST_PROVIDER)
        own = self.by_tenant[tenant_id].get(channel)
        return own or parse_route(settings.PROVIDER_ROUTES[channel.key])


def load_routes(tenant_ids: Collection[int]) -> RouteTable:
    """Read the routes of these tenants; a change is seen within five seconds."""
    routes: dict[int, Mapping[Channel, Route]] = {}
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


def _read(tenant_ids: Collection[int]) -> dict[int, dict[Channel, Route]]:
    tiers: dict[int, dict[Channel, dict[int, dict[str, float]]]] = {
        known: defaultdict(lambda: defaultdict(dict)) for known in tenant_ids
    }
    rows = (
        ProviderRoute.objects.filter(tenant_id__in=tenant_ids)
        .order_by("tier", "provider")
        .values_list("tenant_id", "channel", "tier", "provider", "weight")
    )
    for tenant_id, channel, tier, provider, weight in rows:
        tiers[tenant_id][Channel(channel)][tier][provider] = weight
    routes = {
        tenant_id: {
            channel: Route(tuple(found.values())) for channel, found in own.items()
        }
        for tenant_id, own in tiers.items()
    }
    for tenant_id, known in routes.items():
        _remembered.put(tenant_id, known)
    return routes
