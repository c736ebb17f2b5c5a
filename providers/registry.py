"""Open the accounts that settings.PROVIDERS names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from providers.base import Adapter, LocalAdapter
from providers.channels import Channel
from providers.circuit.board import BreakerPolicy
from providers.unknown_policy import UnknownPolicy, default_policy
from tenants.categories import Category

DEFAULT_CONCURRENCY = 50
DEFAULT_TIMEOUT = 10.0
# What is left of a claim when its call has had all its time, at the least.
_MARGIN = timedelta(seconds=2)


class UnknownProvider(ImproperlyConfigured, KeyError):
    """settings.PROVIDERS has no such alias."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An adapter with the limits of the account it speaks for."""

    alias: str
    adapter: Adapter
    concurrency: int
    # Of one call, from the moment it has one of the account's slots.
    timeout: timedelta
    # How long a call may wait for its turn.
    patience: timedelta
    # Calls a second, of all workers together; None where there is no limit.
    rate: float | None
    # Whose calls the rate counts: of all accounts of this name.
    quota: str
    # The same for this account alone, for each tenant, and for numbers that begin so
    # (+84): all within the rate.
    sender_rate: float | None
    tenant_rate: float | None
    prefix_rates: Mapping[str, float]
    # None for an account that is always called, up to its limits.
    breaker: BreakerPolicy | None


def adapter_class(alias: str) -> type[Adapter]:
    """Return what an alias is served by, to read its class attributes."""
    return _import_adapter(_entry(alias).get("BACKEND", ""))


def may_rest(alias: str) -> bool:
    """Tell whether calls to the account may be held back; False for an unknown one."""
    entry = settings.PROVIDERS.get(alias)
    if entry is None:
        return False
    return _breaker(entry, backend=adapter_class(alias)) is not None


def idempotency_window(alias: str) -> timedelta:
    """Return for how long after a first call a second one of the same is harmless."""
    entry = settings.PROVIDERS.get(alias)
    if entry is None:
        return timedelta(0)
    seconds = entry.get("IDEMPOTENCY_WINDOW")
    if seconds is not None:
        return timedelta(seconds=seconds)
    return adapter_class(alias).idempotency_window or timedelta(0)


def unknown_policy(
    alias: str, *, category: Category, channel: Channel
) -> UnknownPolicy:
    """Return what an unknown outcome of the account leads to."""
    chosen = settings.PROVIDERS.get(alias, {}).get("UNKNOWN", {}).get(category)
    if chosen is not None:
        return UnknownPolicy(chosen)
    return default_policy(category=category, channel=channel)


def account(alias: str) -> Account:
    """Open an account with an adapter of its own; a Gateway keeps it for its loop."""
    entry = _entry(alias)
    # The signatures of adapters differ: their OPTIONS are their own affair.
    backend = adapter_class(alias)
    build = cast("Callable[..., Adapter]", backend)
    timeout = timedelta(seconds=entry.get("TIMEOUT", DEFAULT_TIMEOUT))
    default_rate = None if issubclass(backend, LocalAdapter) else settings.PROVIDER_RATE
    return Account(
        alias=alias,
        adapter=build(**entry.get("OPTIONS", {})),
        rate=entry.get("RATE", default_rate),
        quota=entry.get("QUOTA", alias),
        sender_rate=entry.get("SENDER_RATE"),
        tenant_rate=entry.get("TENANT_RATE"),
        prefix_rates=entry.get("PREFIX_RATES", {}),
        breaker=_breaker(entry, backend=backend),
        concurrency=entry.get("CONCURRENCY", DEFAULT_CONCURRENCY),
        timeout=timeout,
        patience=_patience(entry, timeout=timeout),
    )


def _breaker(
    entry: Mapping[str, Any], *, backend: type[Adapter]
) -> BreakerPolicy | None:
    default: Mapping[str, Any] | None = (
        None if issubclass(backend, LocalAdapter) else {}
    )
    policy = entry.get("BREAKER", default)
    return None if policy is None else BreakerPolicy(**policy)


def _patience(entry: Mapping[str, Any], *, timeout: timedelta) -> timedelta:
    """Wait as long as the claim lasts: in a worker's window it bothers no table."""
    if "PATIENCE" in entry:
        return timedelta(seconds=entry["PATIENCE"])
    return max(settings.CLAIM_LEASE - timeout - _MARGIN, timeout)


def _entry(alias: str) -> Mapping[str, Any]:
    entry: Mapping[str, Any] | None = settings.PROVIDERS.get(alias)
    if entry is None:
        raise UnknownProvider(f"settings.PROVIDERS has no {alias!r}")
    return entry


@cache
def _import_adapter(path: str) -> type[Adapter]:
    found = import_string(path)
    if not (isinstance(found, type) and issubclass(found, Adapter)):
        raise ImproperlyConfigured(f"{path} is no providers.base.Adapter")
    return found
