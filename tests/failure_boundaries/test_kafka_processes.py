"""Relay, consumer and broker killed in turn while notifications come in."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from devstack.folders import throw_away_folder
from devstack.kafka import bootstrap_of, known_jars, start_broker
from devstack.servers import free_port, stop
from tests.acme import ROOT, Api, query
from tests.kafka import Kafka, is_real_broker, wait_until

pytestmark = [
    pytest.mark.skipif(not is_real_broker(), reason="needs Apache Kafka"),
    pytest.mark.timeout(240),
]

Start = Callable[..., subprocess.Popen[bytes]]


class OwnBroker:
    """A broker that this test alone may kill."""

    def __init__(self, home: Path) -> None:
        self._home, self._port = home, free_port()
        self.start()

    @property
    def bootstrap(self) -> str:
        return bootstrap_of(self._home)

    def start(self) -> None:
        self._process = start_broker(self._home, jars=known_jars(), port=self._port)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        stop(self._process, signals=(signal.SIGTERM,))


@pytest.fixture
def own_broker(settings: Settings) -> Iterator[OwnBroker]:
    with throw_away_folder() as folder:
        home = folder / "kafka"
        home.mkdir()
        broker = OwnBroker(home)
        settings.KAFKA_BOOTSTRAP_SERVERS = broker.bootstrap
        settings.DELIVERY_TRANSPORT = "kafka"
        Kafka(prefix="").declare()
        yield broker
        broker.close()


@pytest.fixture
def start(database_env: Mapping[str, str]) -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**database_env, "DELIVERY_TRANSPORT": "kafka", **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


@contextmanager
def load(api: Api) -> Iterator[list[str]]:
    """Submit all the time meanwhile; yield what was accepted so far."""
    accepted: list[str] = []
    over = threading.Event()

    def submit() -> None:
        while not over.wait(0.02):
            key = f"load-{len(accepted)}"
            accepted.append(
                api.accept(idempotency_key=key, channels=["email", "in_app"])
            )
        connection.close()

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        yield accepted
    finally:
        over.set()
        thread.join()


def sent() -> int:
    count: int = query("SELECT count(*) FROM delivery WHERE status = 'sent'")[0][
        "count"
    ]
    return count


def test_killed_in_turn_nothing_is_lost_and_nothing_unexplained_is_sent_twice(
    api: Api, own_broker: OwnBroker, start: Start
) -> None:
    """F15, F16, F26: relay, consumer and broker die in the middle of a load."""
    short = {
        "KAFKA_BOOTSTRAP_SERVERS": own_broker.bootstrap,
        "CLAIM_LEASE_SECONDS": "30",
        "PUBLISH_LEASE_SECONDS": "2",
    }

    def consumer() -> subprocess.Popen[bytes]:
        return start("consume_deliveries", KAFKA_INSTANCE="one", **short)

    relay, consuming = start("relay_outbox", **short), consumer()
    with load(api) as accepted:
        wait_until(lambda: sent() > 20)

        relay.kill()
        relay = start("relay_outbox", **short)
        goes_on()

        consuming.kill()
        consuming = consumer()
        goes_on()

        own_broker.kill()
        own_broker.start()
        goes_on()
    wait_until(lambda: query("SELECT 1 FROM outbox LIMIT 1") == [], seconds=120)

    assert query("SELECT status, count(*) FROM delivery GROUP BY status") == [
        {"status": "sent", "count": 2 * len(accepted)}
    ]
    assert unexplained_duplicates() == []


def goes_on() -> None:
    """Wait until more is sent than was a moment ago."""
    before = sent()
    wait_until(lambda: sent() > before)


def unexplained_duplicates() -> list[dict[str, Any]]:
    """Find deliveries that reached the person more often than an unknown explains."""
    return query(
        "SELECT m.delivery_id FROM sandbox_message m WHERE m.accepted"
        " GROUP BY m.delivery_id HAVING count(*) > 1 + (SELECT count(*)"
        "   FROM audit_event e WHERE e.delivery_id = m.delivery_id"
        "    AND e.kind = 'delivery.attempt_lost')"
    )
