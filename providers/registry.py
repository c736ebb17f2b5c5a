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

from providers.base import Adapter

DEFAULT_CONCURRENCY = 50
DEFAULT_TIMEOUT = 10.0


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


def adapter_class(alias: str) -> type[Adapter]:
    """Return what an alias is served by, to read its class attributes."""
    return _import_adapter(_entry(alias).get("BACKEND", ""))


def account(alias: str) -> Account:
    """Open an account with an adapter of its own; a Gateway keeps it for its loop."""
    entry = _entry(alias)
    # The signatures of adapters differ: their OPTIONS are their own affair.
    build = cast("Callable[..., Adapter]", adapter_class(alias))
    return Account(
        alias=alias,
        adapter=build(**entry.get("OPTIONS", {})),
        concurrency=entry.get("CONCURRENCY", DEFAULT_CONCURRENCY),
        timeout=timedelta(seconds=entry.get("TIMEOUT", DEFAULT_TIMEOUT)),
    )


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
