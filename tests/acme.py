"""The sample tenant, a client with its key, and a consumer to run when asked."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from foundation.ids import parse_public_id
from notifications.management.commands.consume_deliveries import build_consumer
from notifications.management.sample import load_tenant
from notifications.transport.base import Subscription
from notifications.worker import Stop
from providers.channels import Channel
from tenants.categories import Priority
from tenants.models import Tenant
from tests.factories.tenants import api_key, authorization

ROOT = Path(__file__).parents[1]
ALL = Subscription(
    channels=tuple(Channel), priorities=tuple(Priority), lease=timedelta(seconds=60)
)


@dataclass(frozen=True)
class Api:
    """Calls the API with one key."""

    client: Client
    headers: Mapping[str, str]

    def post(self, path: str, body: object = None, **headers: str) -> Any:
        return self.client.post(
            path,
            data=body,
            content_type="application/json",
            headers={**self.headers, **headers},
        )

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(path, query, headers=self.headers)

    def put(self, path: str, body: object, **headers: str) -> Any:
        return self.client.put(
            path,
            data=body,
            content_type="application/json",
            headers={**self.headers, **headers},
        )

    def submit(self, **changes: Any) -> Any:
        return self.post("/v1/notifications", submission(**changes))

    def accept(self, **changes: Any) -> str:
        answer = self.submit(**changes)
        assert answer.status_code == 202, answer.content
        identifier: str = answer.json()["notification_id"]
        return identifier

    def standing(self, notification_id: str) -> dict[str, Any]:
        answer = self.get(f"/v1/notifications/{notification_id}")
        assert answer.status_code == 200, answer.content
        standing: dict[str, Any] = answer.json()
        return standing

    def cancel(self, notification_id: str, **headers: str) -> Any:
        return self.post(f"/v1/notifications/{notification_id}/cancel", **headers)


def submission(**changes: Any) -> dict[str, Any]:
    """Return a body that is accepted, but for the changes; None leaves a member out."""
    body = {
        "idempotency_key": "billing:invoice:inv_928:due",
        "recipient": {"user_id": "usr_an"},
        "template": {"name": "invoice_due", "version": 1},
        "variables": {
            "amount": "125.00",
            "currency": "USD",
            "due_date": "2026-12-20",
        },
        "channels": ["email"],
    }
    changed = {**body, **changes}
    return {name: value for name, value in changed.items() if value is not None}


@pytest.fixture
def acme(committed: None) -> Tenant:
    """Make the sample tenant, committed."""
    return load_tenant()[0]


@pytest.fixture
def api(acme: Tenant) -> Api:
    """Call the API with a live key of the sample tenant that may do everything."""
    return Api(Client(), authorization(api_key(acme)))


@pytest.fixture
def consume(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run a consumer in this process until nothing is due.

    Its jitter is fixed: one near nought would make a retry due in the same run.
    """
    monkeypatch.setattr(random, "random", lambda: 0.5)

    def run(subscription: Subscription = ALL) -> None:
        consumer = build_consumer(subscription, stop=Stop(), window=50)
        asyncio.run(consumer.run(once=True))

    return run


@pytest.fixture
def consumer_process(
    database_env: Mapping[str, str],
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `consume_deliveries` as a process of its own, as operators do."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "consume_deliveries", *options],
            cwd=ROOT,
            env={**database_env, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        # SIGKILL ends a stopped one too; what a failed test left must not live on.
        process.kill()
        process.communicate()


def deliveries(notification_id: str) -> list[dict[str, Any]]:
    """Read a notification's deliveries, in the order of their channels."""
    return query(
        "SELECT * FROM delivery WHERE notification_id = %s ORDER BY channel, id",
        parse_public_id("ntf", notification_id),
    )


def events(notification_id: str) -> list[str]:
    """Read the kinds of a notification's events, oldest first."""
    rows = query(
        "SELECT kind FROM audit_event WHERE notification_id = %s"
        " ORDER BY created_at, id",
        parse_public_id("ntf", notification_id),
    )
    return [row["kind"] for row in rows]


def sandbox_calls(delivery_id: object) -> list[dict[str, Any]]:
    """Read what the sandbox was asked to send for a delivery."""
    return query(
        "SELECT * FROM sandbox_message WHERE delivery_id = %s ORDER BY id", delivery_id
    )


def query(statement: str, *parameters: Any) -> list[dict[str, Any]]:
    """Read rows as dicts."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@contextmanager
def provider_settings(**changes: Any) -> Iterator[None]:
    """Replace entries of settings.PROVIDERS for a while."""
    saved = dict(settings.PROVIDERS)
    settings.PROVIDERS.update(changes)
    try:
        yield
    finally:
        settings.PROVIDERS.clear()
        settings.PROVIDERS.update(saved)


def run_together(*works: Callable[[], object]) -> list[Any]:
    """Run works in threads that start at one moment; return results or exceptions."""
    barrier = threading.Barrier(len(works))
    results: list[Any] = [None] * len(works)

    def run(index: int, work: Callable[[], object]) -> None:
        barrier.wait(timeout=30)
        try:
            results[index] = work()
        except Exception as raised:  # noqa: BLE001 - handed to the test
            results[index] = raised
        finally:
            connection.close()

    threads = [
        threading.Thread(target=run, args=(index, work))
        for index, work in enumerate(works)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return results
