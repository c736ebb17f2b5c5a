"""Refuse settings with which deliveries could only park."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from providers.base import Adapter
from providers.channels import Channel
from providers.registry import Account, account, adapter_class
from providers.routing import parse_route
from providers.unknown_policy import UnknownPolicy
from tenants.categories import Category

_KEYS = {
    "BACKEND",
    "OPTIONS",
    "CONCURRENCY",
    "TIMEOUT",
    "PATIENCE",
    "RATE",
    "QUOTA",
    "SENDER_RATE",
    "TENANT_RATE",
    "PREFIX_RATES",
    "BREAKER",
    "UNKNOWN",
    "IDEMPOTENCY_WINDOW",
}


@register
def check_providers(**_: Any) -> list[CheckMessage]:
    """Open every account, as a gateway would, and look at its limits."""
    found = [
        message
        for alias, entry in settings.PROVIDERS.items()
        for message in _check_entry(alias, entry)
    ]
    return found + list(_check_shared_quotas())


@register
def check_routes(**_: Any) -> list[CheckMessage]:
    """See that every channel leads to a provider that serves it."""
    routes = settings.PROVIDER_ROUTES
    found = [_check_route(channel, routes.get(channel.key)) for channel in Channel]
    if surplus := set(routes) - {channel.key for channel in Channel}:
        found.append(
            Error(
                f"PROVIDER_ROUTES has keys that are no channels: {sorted(surplus)}.",
                hint="The channels are email, sms, push and in_app.",
                id="providers.E005",
            )
        )
    return [message for message in found if message is not None]


@register
def check_test_provider(**_: Any) -> list[CheckMessage]:
    """See that whatever a test key sends has somewhere to go."""
    if _serves(settings.TEST_PROVIDER, set(Channel)):
        return []
    return [
        Error(
            f"TEST_PROVIDER, {settings.TEST_PROVIDER!r}, does not serve every channel.",
            hint="Name the alias of providers.sandbox.SandboxAdapter.",
            id="providers.E006",
        )
    ]


def _check_route(channel: Channel, entry: Any) -> CheckMessage | None:
    if _is_route(entry) and all(
        _serves(alias, {channel}) for alias in parse_route(entry).providers
    ):
        return None
    return Error(
        f"PROVIDER_ROUTES[{channel.key!r}], {entry!r}, does not serve the channel.",
        hint="Name an alias of PROVIDERS whose adapter lists the channel, or several:"
        " [{alias: weight, ...}, ...], the preferred ones first.",
        id="providers.E004",
    )


def _check_entry(alias: str, entry: Mapping[str, Any]) -> Iterator[CheckMessage]:
    if surplus := set(entry) - _KEYS:
        yield Error(
            f"PROVIDERS[{alias!r}] has keys that mean nothing: {sorted(surplus)}.",
            hint=f"The keys are {sorted(_KEYS)}.",
            id="providers.E001",
        )
    try:
        opened = account(alias)
    except (ImproperlyConfigured, ImportError, TypeError, ValueError) as fault:
        yield Error(
            f"PROVIDERS[{alias!r}] cannot be opened: {fault}",
            hint="BACKEND is the dotted path of an adapter, OPTIONS its arguments.",
            id="providers.E002",
        )
        return
    yield from _check_limits(opened)
    yield from _check_unknown(alias, entry.get("UNKNOWN", {}))
    yield from _check_window(alias, entry.get("IDEMPOTENCY_WINDOW"))


def _check_window(alias: str, seconds: Any) -> Iterator[CheckMessage]:
    if seconds is not None and (not isinstance(seconds, int | float) or seconds < 0):
        yield Error(
            f"PROVIDERS[{alias!r}]: IDEMPOTENCY_WINDOW cannot be {seconds!r}.",
            hint="Seconds for which the provider remembers our key; 0: not at all.",
            id="providers.E009",
        )


def _check_unknown(alias: str, policies: Any) -> Iterator[CheckMessage]:
    if not isinstance(policies, Mapping):
        policies = {policies: ""}
    for category, policy in policies.items():
        if category not in set(Category) or policy not in set(UnknownPolicy):
            yield Error(
                f"PROVIDERS[{alias!r}]: UNKNOWN[{category!r}] cannot be {policy!r}.",
                hint=f"For each of {', '.join(Category)}: {', '.join(UnknownPolicy)}.",
                id="providers.E009",
            )


def _check_limits(opened: Account) -> Iterator[CheckMessage]:
    if opened.concurrency < 1:
        yield Error(
            f"PROVIDERS[{opened.alias!r}]: CONCURRENCY must be at least 1.",
            id="providers.E003",
        )
    yield from _check_rates(opened)
    at_least = opened.adapter.seconds_before_body
    if opened.timeout.total_seconds() <= at_least:
        yield Error(
            f"PROVIDERS[{opened.alias!r}]: TIMEOUT must be longer than {at_least} s.",
            hint="That long may connecting take, which is safe to repeat; what is cut"
            " off by TIMEOUT has an unknown outcome.",
            id="providers.E003",
        )


def _check_shared_quotas() -> Iterator[CheckMessage]:
    rates: dict[str, set[float | None]] = {}
    for entry in settings.PROVIDERS.values():
        if quota := entry.get("QUOTA"):
            rates.setdefault(quota, set()).add(entry.get("RATE"))
    for quota, found in rates.items():
        if len(found) > 1:
            yield Error(
                f"PROVIDERS: the accounts of the quota {quota!r} differ in RATE.",
                hint="What they share has one rate; SENDER_RATE is an account's own.",
                id="providers.E008",
            )


def _check_rates(opened: Account) -> Iterator[CheckMessage]:
    beside = {
        "SENDER_RATE": opened.sender_rate,
        "TENANT_RATE": opened.tenant_rate,
        **{f"PREFIX_RATES[{key!r}]": rate for key, rate in opened.prefix_rates.items()},
    }
    for name, rate in {"RATE": opened.rate, **beside}.items():
        if rate is not None and rate <= 0:
            yield Error(
                f"PROVIDERS[{opened.alias!r}]: {name} must be above 0.",
                hint="Calls a second; None where there is no limit.",
                id="providers.E007",
            )
    if opened.rate is None and any(rate is not None for rate in beside.values()):
        yield Error(
            f"PROVIDERS[{opened.alias!r}]: limits beside RATE need a RATE.",
            hint=f"They are {', '.join(beside)}.",
            id="providers.E007",
        )


def _is_route(entry: Any) -> bool:
    """Tell whether it is an alias, or tiers of weights above 0, each alias once."""
    if isinstance(entry, str):
        return True
    if not isinstance(entry, list) or not entry:
        return False
    if not all(isinstance(tier, dict) and tier for tier in entry):
        return False
    weights = [weight for tier in entry for weight in tier.values()]
    aliases = [alias for tier in entry for alias in tier]
    return len(set(aliases)) == len(aliases) and all(
        isinstance(weight, int | float) and weight > 0 for weight in weights
    )


def _serves(alias: str, channels: Collection[Channel]) -> bool:
    try:
        adapter: type[Adapter] = adapter_class(alias)
    except (ImproperlyConfigured, ImportError):
        return False
    return set(channels) <= adapter.channels
