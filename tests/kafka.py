"""Topics of a test's own on the run's broker, and relays and consumers to run."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from django.db import connections
from pytest_django.fixtures import Settings

from notifications.management.commands.consume_deliveries import build_consumer
from notifications.management.commands.relay_outbox import build_relay
from notifications.outbox import LANES, Lane
from notifications.transport.base import Subscription
from notifications.transport.kafka.topics import (
    Layout,
    connection_settings,
    declare_topics,
    topic,
)
from notifications.worker import Stop
from tenants.categories import Priority
from tests.acme import ALL, query
from tests.embedded_stack import NEEDS_KAFKA

LAYOUT = Layout(partitions=2, replication=1, retention_hours=1, min_insync_replicas=1)
DEADLINE_SECONDS = 60.0

Running = Callable[..., AbstractContextManager[None]]


@dataclass(frozen=True, kw_only=True)
class Kafka:
    """The broker under the test's own prefix."""

    prefix: str

    @property
    def environment(self) -> Mapping[str, str]:
        """Return what child processes need."""
        return {"DELIVERY_TRANSPORT": "kafka", "KAFKA_PREFIX": self.prefix}

    def declare(self) -> None:
        declare_topics(LANES, LAYOUT)

    def delete_topics(self) -> None:
        admin = AdminClient(connection_settings())
        for future in admin.delete_topics([topic(lane) for lane in LANES]).values():
            future.result(timeout=20)

    def produce(self, lane: Lane, *values: bytes | None, partition: int = 0) -> None:
        producer = Producer(connection_settings())
        for value in values:
            producer.produce(topic(lane), value, partition=partition)
        assert producer.flush(20) == 0


@pytest.fixture
def kafka(settings: Settings) -> Iterator[Kafka]:
    """Declare topics of this test's own; the settings choose the Kafka transport."""
    settings.DELIVERY_TRANSPORT = "kafka"
    settings.KAFKA_PREFIX = f"test-{uuid4().hex[:12]}."
    broker = Kafka(prefix=settings.KAFKA_PREFIX)
    broker.declare()
    yield broker
    if is_real_broker():
        broker.delete_topics()


@contextmanager
def relaying(*priorities: Priority) -> Iterator[None]:
    """Run relays in threads meanwhile."""
    stop = Stop()
    relays = [build_relay(priority, stop=stop) for priority in priorities or Priority]
    with in_threads(stop, *(relay.run for relay in relays)):
        yield


@contextmanager
def consuming(subscription: Subscription = ALL, *, window: int = 50) -> Iterator[None]:
    """Run a consumer in a thread meanwhile."""
    stop = Stop()

    def consume() -> None:
        consumer = build_consumer(subscription, stop=stop, window=window)
        asyncio.run(consumer.run())

    with in_threads(stop, consume):
        yield


@pytest.fixture(params=["postgres", "kafka"])
def running(request: pytest.FixtureRequest) -> Running:
    """Return a context in which everything runs that the transport needs."""
    if request.param == "kafka":
        request.getfixturevalue("kafka")

    @contextmanager
    def run(consumers: int = 1, of: Subscription = ALL) -> Iterator[None]:
        with ExitStack() as stack:
            if request.param == "kafka":
                stack.enter_context(relaying(*of.priorities))
            for _ in range(consumers):
                stack.enter_context(consuming(of))
            yield

    return run


@contextmanager
def in_threads(stop: Stop, *works: Callable[[], None]) -> Iterator[None]:
    """Run works in threads meanwhile; at the end they are asked to stop."""

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as threads:
        running = [threads.submit(run, work) for work in works]
        try:
            yield
        finally:
            stop.ask()
    for ended in running:
        ended.result()


def wait_until(
    condition: Callable[[], object], *, seconds: float = DEADLINE_SECONDS
) -> None:
    """Wait for a condition; fail when it does not come about in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come about"
        time.sleep(0.02)


def is_all_finished() -> bool:
    """Tell whether every delivery is finished."""
    return query("SELECT count(*) FROM outbox") == [{"count": 0}]


def is_real_broker() -> bool:
    return "KAFKA_IS_MOCK" not in os.environ


needs_apache_kafka = pytest.mark.skipif(not is_real_broker(), reason=NEEDS_KAFKA)
