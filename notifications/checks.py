"""System checks: settings and a database that would break the promises."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from notifications.retry_policy import RetryPolicy
from providers.registry import DEFAULT_TIMEOUT
from tenants.categories import Category

# Between the end of a call and the end of its claim; see dispatch.sending.
_SETTLING = timedelta(seconds=5)

# A tag of their own: the workers run these alone at their start, since all of Django's
# would first load every URL and view, half a second of a restart.
DELIVERY = "delivery"


@register(DELIVERY)
def check_claims_outlast_calls(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> list[CheckMessage]:
    """A claim must outlast the wait for a slot, the call and the settling."""
    return [
        Error(
            f"CLAIM_LEASE is too short for calls of the provider {alias!r}.",
            hint="A claim waits one TIMEOUT for a slot and one for the call.",
            id="notifications.E001",
        )
        for alias, entry in settings.PROVIDERS.items()
        if timedelta(seconds=2 * entry.get("TIMEOUT", DEFAULT_TIMEOUT)) + _SETTLING
        > settings.CLAIM_LEASE
    ]


@register(DELIVERY)
def check_every_category_has_a_policy(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> list[CheckMessage]:
    """Each category needs a retry policy and an expiry, None included."""
    found: list[CheckMessage] = []
    for category in Category:
        try:
            RetryPolicy(**settings.RETRY_POLICIES[category])
            settings.DEFAULT_EXPIRY[category]
        except (KeyError, TypeError) as missing:
            found.append(
                Error(
                    f"No usable retry policy or expiry for {category!r}: {missing}.",
                    hint="See RETRY_POLICIES and DEFAULT_EXPIRY in config/settings.py.",
                    id="notifications.E002",
                )
            )
    return found


@register(DELIVERY)
def check_ordered_categories(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> list[CheckMessage]:
    """What is to keep an order must be a category, or it would silently keep none."""
    return [
        Error(
            f"ORDERED_CATEGORIES names {name!r}, which is no category.",
            hint=f"Choose of: {', '.join(Category)}.",
            id="notifications.E006",
        )
        for name in settings.ORDERED_CATEGORIES
        if name not in set(Category)
    ]


@register(DELIVERY)
def check_transport(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> list[CheckMessage]:
    """A transport that is not known, or not told where its broker is, moves nothing."""
    chosen = settings.DELIVERY_TRANSPORT
    if chosen not in settings.DELIVERY_TRANSPORTS:
        known = ", ".join(settings.DELIVERY_TRANSPORTS)
        return [
            Error(
                f"DELIVERY_TRANSPORT is {chosen!r}.",
                hint=f"Choose one of: {known}.",
                id="notifications.E004",
            )
        ]
    if chosen == "kafka" and not settings.KAFKA_BOOTSTRAP_SERVERS:
        return [
            Error(
                "DELIVERY_TRANSPORT is 'kafka' and KAFKA_BOOTSTRAP_SERVERS is empty.",
                id="notifications.E005",
            )
        ]
    return []


@register(Tags.database)
def check_clock_is_real(
    app_configs: Sequence[AppConfig] | None,
    databases: Sequence[str] | None,
    **options: Any,
) -> list[CheckMessage]:
    """Tests put a movable clock behind app_now(); nobody else may."""
    found: list[CheckMessage] = []
    for alias in databases or ():
        with connections[alias].cursor() as cursor:
            cursor.execute(
                "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'app_now'"
            )
            row = cursor.fetchone()
        if row is not None and "test_clock" in row[0]:
            found.append(
                Error(
                    f"app_now() of the database {alias!r} is the tests' clock.",
                    hint="This database was made by the tests: do not run on it.",
                    id="notifications.E003",
                )
            )
    return found
