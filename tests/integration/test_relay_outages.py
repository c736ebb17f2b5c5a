"""A relay whose broker or database is away asks seldom, and asks the right one."""

from __future__ import annotations

import pytest
from django.db import connections
from pytest_django.fixtures import Settings
from structlog.testing import capture_logs

from devstack.servers import free_port
from notifications.outbox import LANES
from notifications.relay.topic_watch import TopicWatch
from tenants.categories import Priority
from tests.kafka import relaying, wait_until


@pytest.fixture
def no_broker(settings: Settings) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS = f"127.0.0.1:{free_port()}"


def test_an_absent_broker_is_not_asked_for_its_topics_in_every_round(
    no_broker: None, settings: Settings
) -> None:
    watch = TopicWatch(LANES, horizon=settings.PUBLISHED_HORIZONS[Priority.LOW])

    with capture_logs() as logs:
        for _ in range(3):
            watch.look()

    assert [line["event"] for line in logs] == ["topics_unknown"]
    assert watch.present == frozenset()


def test_a_relay_without_a_database_goes_on_asking_the_database(
    no_broker: None, committed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its broker has no part in that: here it is away too, and is not waited for."""
    with capture_logs() as logs:

        def asked() -> int:
            return sum(line["event"] == "database_unavailable" for line in logs)

        with monkeypatch.context() as patched:
            patched.setitem(
                connections["default"].settings_dict, "PORT", str(free_port())
            )
            with relaying(Priority.HIGH):
                wait_until(lambda: asked() >= 3)

    (warmed_up,) = [line for line in logs if line["event"] == "broker_unreachable"]
    assert "lanes" not in warmed_up  # the one at its start, not the wait for it
