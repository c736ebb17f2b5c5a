"""Load what a claimed batch needs to be decided and rendered, a query for each kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import orjson

from foundation.statements import Cursor
from notifications.outbox import Lane
from notifications.transitions import Begun, BrokenInvariant, Fence
from preferences.profile import Profile
from preferences.profiles import load_profiles
from preferences.regional_rules import regional_country
from providers.account_faults import faulty_accounts, take_probes
from providers.base import Adapter, LocalAdapter, SearchableAdapter
from providers.channels import Channel
from providers.gateway import Health
from providers.registry import UnknownProvider, adapter_class
from providers.routing import RouteTable, choose, load_routes
from templates.catalog import PinnedVersion, load_versions
from tenants import data_keys
from tenants.categories import KnownCategory, Priority
from tenants.category_catalog import categories_of_many, find_category
from tenants.limits import Limits, limits_of_many


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A claimed delivery with everything that decides about it."""

    begun: Begun
    channel: Channel
    priority: Priority
    user_id: str
    locale: str
    time_zone: str
    is_test: bool
    profile: Profile
    version: PinnedVersion
    category: KnownCategory
    provider: str
    # Everybody who could be called, in this message's order.
    route: tuple[str, ...]
    # Of these, who could stand in: nobody once a call may have succeeded.
    alternatives: frozenset[str] = frozenset()
    # Whether the account refuses us, and whether this message is to see if it does.
    is_account_faulty: bool = False
    is_probe: bool = False
    # None where the settings know no such provider; the gateway says so.
    adapter: type[Adapter] | None
    sealed_content: bytes | None
    # Where the tenant may send text messages; None is everywhere.
    sms_countries: frozenset[str] | None = None
    transliterates_sms: bool = False
    # Where the number is, of what the rules of a region are about. It is found out in
    # the claim: on the event loop, where policy is asked again, nothing can be opened.
    country: str = ""

    @property
    def is_local(self) -> bool:
        """Tell whether settle itself delivers it: then no outcome is ever unknown."""
        return self.adapter is not None and issubclass(self.adapter, LocalAdapter)

    @property
    def can_look_up(self) -> bool:
        """Tell whether its provider can be asked what became of a call."""
        return self.adapter is not None and issubclass(self.adapter, SearchableAdapter)

    @property
    def lane(self) -> Lane:
        return Lane(self.priority, self.channel)

    @property
    def fence(self) -> Fence:
        return Fence(self.begun.delivery_id, self.begun.claim_count)

    def address(self) -> str | None:
        """Return where to send; None if the address is no longer this person's."""
        begun = self.begun
        if begun.address_sealed is not None:
            return data_keys.unseal(
                tenant_id=begun.tenant_id,
                table="delivery",
                row=begun.delivery_id,
                sealed=begun.address_sealed,
            ).decode()
        if self.channel is Channel.IN_APP:
            return self.user_id
        for known in self.profile.addresses.get(self.channel, ()):
            if known.id == begun.address_id:
                return known.value
        return None

    def variables(self) -> Mapping[str, object] | None:
        """Unseal the variables; None if the content has been erased."""
        if self.sealed_content is None:
            return None
        content: dict[str, dict[str, object]] = orjson.loads(
            data_keys.unseal(
                tenant_id=self.begun.tenant_id,
                table="notification_content",
                row=self.begun.notification_id,
                sealed=self.sealed_content,
            )
        )
        return content["variables"]


# OFFSET 0 keeps it one index look-up for each id: a plain join may be turned into a
# hash of whole partitions.
_NOTIFICATIONS = """
SELECT n.id, n.user_id, n.template_version_id, n.locale, n.is_test, n.priority,
       (SELECT c.sealed FROM notification_content c WHERE c.id = r.id)
  FROM unnest(%s::uuid[]) r(id),
       LATERAL (SELECT * FROM notification n WHERE n.id = r.id OFFSET 0) n
"""


def load_work(cursor: Cursor, begun: Sequence[Begun], *, health: Health) -> list[Work]:
    """Load notifications, people, templates and routes of a claimed batch."""
    cursor.execute(_NOTIFICATIONS, [list({row.notification_id for row in begun})])
    notifications: dict[UUID, tuple[str, int, str, bool, int, bytes | None]] = {
        row[0]: row[1:] for row in cursor.fetchall()
    }
    orphans = {
        row.delivery_id for row in begun if row.notification_id not in notifications
    }
    if orphans:
        raise BrokenInvariant(orphans)
    people = {(row.tenant_id, notifications[row.notification_id][0]) for row in begun}
    channels = {Channel(row.channel) for row in begun}
    profiles = load_profiles(people, channels=channels)
    versions = load_versions({known[1] for known in notifications.values()})
    unpinned = {
        row.delivery_id
        for row in begun
        if notifications[row.notification_id][1] not in versions
    }
    if unpinned:
        raise BrokenInvariant(unpinned)
    categories_of_many({row.tenant_id for row in begun})  # in one query, to be found
    limits = limits_of_many({row.tenant_id for row in begun})
    faulty = faulty_accounts(cursor)
    choice = Choice(
        load_routes({row.tenant_id for row in begun}),
        faulty=faulty,
        probes=take_probes(cursor, faulty) if faulty else set(),
        health=health,
    )
    return [
        _work(
            row,
            notifications[row.notification_id],
            profiles,
            versions,
            choice,
            limits[row.tenant_id],
        )
        for row in begun
    ]


class Choice:
    """Chooses the provider of each delivery of a batch."""

    def __init__(
        self,
        routes: RouteTable,
        *,
        faulty: Collection[str],
        probes: Collection[str],
        health: Health,
    ) -> None:
        self.faulty = frozenset(faulty)
        self._routes = routes
        self._resting = set(health.resting)
        # Each of these needs one message, and only one.
        self._probing = {*health.probing, *probes}
        self._held = self.faulty - set(probes)

    def route(self, begun: Begun, *, is_test: bool) -> tuple[str, ...]:
        """Return everybody who could be called, in this delivery's order."""
        route = self._routes.route(
            tenant_id=begun.tenant_id, channel=Channel(begun.channel), is_test=is_test
        )
        return route.order(begun.delivery_id)

    def alternatives(self, begun: Begun, route: tuple[str, ...]) -> frozenset[str]:
        """Return who could be called instead of the chosen one."""
        if len(route) == 1 or begun.maybe_sent:
            return frozenset()
        return frozenset(route) - self.faulty

    def provider(self, begun: Begun, route: tuple[str, ...]) -> str:
        """Return whom to call: another than failed, but nobody else once a call may
        have succeeded, and no second one where a single probe is needed."""
        if begun.maybe_sent and begun.provider in route:
            return begun.provider
        # Asked about it, even if nothing is sent by it any more.
        if begun.is_reconciling and begun.provider:
            return begun.provider
        after = begun.provider if begun.attempt_count else ""
        return choose(route, after=after, resting=self._resting, faulty=self._held)

    def take_probe(self, provider: str) -> bool:
        """Tell whether this message is the probe that the provider needs."""
        if provider not in self._probing:
            return False
        self._probing.discard(provider)
        self._resting.add(provider)
        if provider in self.faulty:
            self._held |= {provider}
        return True


def _work(
    begun: Begun,
    notification: tuple[str, int, str, bool, int, bytes | None],
    profiles: Mapping[tuple[int, str], Profile],
    versions: Mapping[int, PinnedVersion],
    choice: Choice,
    limits: Limits,
) -> Work:
    user_id, version_id, locale, is_test, priority, sealed = notification
    channel = Channel(begun.channel)
    profile = profiles[begun.tenant_id, user_id]
    version = versions[version_id]
    route = choice.route(begun, is_test=is_test)
    provider = choice.provider(begun, route)
    category = find_category(tenant_id=begun.tenant_id, name=version.category)
    work = Work(
        begun=begun,
        channel=channel,
        priority=Priority(priority),
        user_id=user_id,
        locale=locale or profile.locale or "",
        time_zone=profile.time_zone or limits.time_zone,
        is_test=is_test,
        sms_countries=limits.sms_countries,
        transliterates_sms=limits.transliterates_sms,
        profile=profile,
        version=version,
        category=category,
        provider=provider,
        route=route,
        alternatives=choice.alternatives(begun, route) - {provider},
        is_account_faulty=provider in choice.faulty and not begun.is_reconciling,
        is_probe=not begun.is_reconciling
        and choice.take_probe(provider)
        and provider in choice.faulty,
        adapter=_adapter(provider),
        sealed_content=sealed,
    )
    country = regional_country(channel, category, work.address)
    return replace(work, country=country) if country else work


def _adapter(provider: str) -> type[Adapter] | None:
    try:
        return adapter_class(provider)
    except UnknownProvider:
        return None
