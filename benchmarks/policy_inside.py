"""What `policy` measures, inside Django: `measure(people, repetitions)`."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from benchmarks.failure import BenchmarkFailed
from benchmarks.reporting import report
from notifications.management.sample import load_tenant
from preferences.address_keys import address_key
from preferences.models import Address, Device, NotificationPreferences, Recipient
from preferences.policy import Case, Decision, Verdict, decide_addresses
from preferences.profile import Profile
from preferences.profiles import load_profiles
from providers.channels import Channel
from tenants.categories import Priority
from tenants.category_catalog import categories_of_many
from tenants.data_keys import seal
from tenants.models import Tenant, TenantCategory

# Half past seven in Vietnam: quiet for who asked for it, and no longer by law.
EARLY = datetime(2026, 8, 20, 0, 30, tzinfo=UTC)
QUIET = {"start": "22:00", "end": "08:00", "time_zone": "Asia/Ho_Chi_Minh"}
CATEGORY = "weekly_tips"


def measure(people: int, repetitions: int) -> None:
    """Fill, check, measure in turns with the ORM's way, and print."""
    tenant, _ = load_tenant()
    TenantCategory.objects.create(tenant=tenant, name=CATEGORY)
    users = _fill(tenant, people)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    sides: dict[str, Callable[[], dict[str, float]]] = {
        "ours": lambda: _ours(tenant, users),
        "orm": lambda: _orm(tenant, users),
    }
    _check(tenant, users)
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for repetition in range(repetitions + 1):
        for name, side in sides.items():
            measured = side()
            if repetition:  # the first one warms up
                figures[name].append(measured)
                load = os.getloadavg()[0]
                report(side=name, repetition=repetition, **measured, load_average=load)
    ours, orm = (
        {key: statistics.median(each[key] for each in told) for key in told[0]}
        for told in figures.values()
    )
    report(
        **ours,
        baseline_load_us=orm["load_us"],
        baseline_queries=orm["queries"],
        load_ratio=orm["load_us"] / ours["load_us"],
    )


def _ours(tenant: Tenant, users: list[str]) -> dict[str, float]:
    with _queries() as queries:
        started = time.perf_counter()
        profiles = load_profiles([(tenant.pk, user) for user in users])
        categories_of_many([tenant.pk])
        loaded = time.perf_counter()
    decided = _decide_all(tenant, profiles)
    spent = time.perf_counter() - loaded
    return {
        "decide_us": spent / len(decided) * 1e6,
        "load_us": (loaded - started) / len(users) * 1e6,
        "queries": queries(),
    }


def _decide_all(
    tenant: Tenant, profiles: dict[tuple[int, str], Profile]
) -> list[Decision]:
    category = categories_of_many([tenant.pk])[tenant.pk][CATEGORY]
    return [
        decision
        for profile in profiles.values()
        for channel in Channel
        for _, decision in decide_addresses(
            Case(
                profile=profile,
                channel=channel,
                category=category,
                priority=Priority.LOW,
                at=EARLY,
            )
        )
    ]


def _orm(tenant: Tenant, users: list[str]) -> dict[str, float]:
    """Load the same as documentation would have it: related rows prefetched."""
    with _queries() as queries:
        started = time.perf_counter()
        people = list(
            Recipient.objects.filter(
                tenant_id=tenant.pk, user_id__in=users
            ).prefetch_related("addresses", "devices")
        )
        chosen = {
            each.user_id: each
            for each in NotificationPreferences.objects.filter(
                tenant_id=tenant.pk, user_id__in=users
            )
        }
        categories = list(TenantCategory.objects.filter(tenant_id=tenant.pk))
        spent = time.perf_counter() - started
    if len(people) != len(users) or not chosen or not categories:
        raise BenchmarkFailed("not everybody was found")
    return {"load_us": spent / len(users) * 1e6, "queries": queries()}


def _check(tenant: Tenant, users: list[str]) -> None:
    """Right before fast: every tenth person chose otherwise, each in a known way."""
    profiles = load_profiles([(tenant.pk, user) for user in users])
    counts = dict.fromkeys(Verdict, 0)
    for decision in _decide_all(tenant, profiles):
        counts[decision.verdict] += 1
    tenth = len(users) // 10
    # Of four channels: one opted out of for a tenth, another not chosen by a tenth, and
    # three at night for a tenth.
    expected = {
        Verdict.SUPPRESS: 2 * tenth,
        Verdict.DEFER: 3 * tenth,
        Verdict.ALLOW: 4 * len(users) - 5 * tenth,
    }
    if counts != expected:
        raise BenchmarkFailed(f"decided {counts} instead of {expected}")


@contextmanager
def _queries() -> Iterator[Callable[[], int]]:
    """Count the executions that go over the wire, by libpq's own trace."""
    connection.ensure_connection()
    wire = connection.connection.pgconn
    with tempfile.TemporaryFile("w+") as trace:
        wire.trace(trace.fileno())
        counted: list[int] = []
        try:
            yield lambda: counted[0]
        finally:
            wire.untrace()
            trace.seek(0)
            lines = trace.read().splitlines()
            # Execute of the extended protocol and Query of the simple one.
            told = [line.split("\t") for line in lines]
            counted.append(
                sum(
                    line[1:2] == ["F"] and line[3:4] in (["Execute"], ["Query"])
                    for line in told
                )
            )


def _fill(tenant: Tenant, people: int) -> list[str]:
    users = [f"person_{number:06}" for number in range(people)]
    rows = Recipient.objects.bulk_create(
        [Recipient(tenant=tenant, user_id=user, locale="vi") for user in users],
        batch_size=1_000,
    )
    for first in range(0, people, 1_000):
        chunk = rows[first : first + 1_000]
        Address.objects.bulk_create(
            [each for row in chunk for each in _addresses(tenant, row)]
        )
        Device.objects.bulk_create([_device(tenant, row) for row in chunk])
    NotificationPreferences.objects.bulk_create(
        [
            NotificationPreferences(
                tenant=tenant, user_id=user, version=1, **_chosen(number)
            )
            for number, user in enumerate(users)
            if number % 10 in {1, 2, 3}
        ],
        batch_size=1_000,
    )
    return users


def _chosen(number: int) -> dict[str, Any]:
    by_number: dict[int, dict[str, Any]] = {
        1: {"opt_outs": ["sms"]},
        2: {"opt_outs": [], "category_choices": {CATEGORY: {"email": False}}},
        3: {"opt_outs": [], "quiet_hours": QUIET},
    }
    return by_number[number % 10]


def _addresses(tenant: Tenant, row: Recipient) -> list[Address]:
    values = {
        Channel.EMAIL: f"{row.user_id}@example.com",
        Channel.SMS: f"+8491{row.pk % 10_000_000:07}",
    }
    made = []
    for channel, value in values.items():
        address = Address(
            recipient=row,
            channel=channel.value,
            key=address_key(tenant_id=tenant.pk, channel=channel, value=value),
        )
        for name in ("typed", "normalised"):
            sealed = seal(
                tenant_id=tenant.pk,
                table=f"address.{name}",
                row=address.id,
                plaintext=value.encode(),
            )
            setattr(address, name, sealed)
        made.append(address)
    return made


def _device(tenant: Tenant, row: Recipient) -> Device:
    device = Device(tenant=tenant, recipient=row, platform="fcm")
    token = f"token-{row.user_id}"
    device.key = token.encode()[-16:]
    device.token = seal(
        tenant_id=tenant.pk,
        table="device.token",
        row=device.id,
        plaintext=token.encode(),
    )
    return device
