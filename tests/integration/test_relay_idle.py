"""An idle relay takes fresh HIGH at once, though it looks seldom by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from pytest_django.fixtures import Settings

from notifications.doorbell import Doorbell
from notifications.relay.publishing import Dates, Pace, Relay
from notifications.worker import Stop
from tenants.categories import Priority
from tests.acme import Api, query
from tests.kafka import Kafka, in_threads, wait_until

SELDOM = Pace(busy_pause=40.0, idle_pause=40.0)
DATES = Dates(publish_lease=timedelta(seconds=4), horizon=timedelta(minutes=1))


@contextmanager
def relay_of_high(pace: Pace) -> Iterator[None]:
    """Run it meanwhile; the block begins when it has gone to sleep."""
    stop = Stop()
    relay = Relay(priority=Priority.HIGH, dates=DATES, pace=pace, stop=stop)
    with in_threads(stop, relay.run):
        # Its first sleep is none, and so a second look follows the first.
        first = relay.heard_at
        wait_until(lambda: relay.heard_at > first)
        second = relay.heard_at
        wait_until(lambda: relay.heard_at > second)
        try:
            yield
        finally:
            stop.ask()
            Doorbell().ring()


def is_published() -> bool:
    return query("SELECT 1 FROM outbox WHERE published_at IS NOT NULL") != []


def test_fresh_high_is_published_long_before_the_pause_is_over(
    api: Api, kafka: Kafka
) -> None:
    with relay_of_high(SELDOM):
        api.accept(priority="high")

        wait_until(is_published, seconds=SELDOM.idle_pause / 2)


def test_a_lost_ring_costs_only_the_pause(
    api: Api, kafka: Kafka, settings: Settings
) -> None:
    with relay_of_high(Pace(busy_pause=0.5, idle_pause=0.5)):
        settings.DELIVERY_TRANSPORT = "postgres"  # where nobody rings
        api.accept(priority="high")

        wait_until(is_published, seconds=SELDOM.idle_pause / 2)
