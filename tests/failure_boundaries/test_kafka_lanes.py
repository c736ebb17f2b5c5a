"""What a consumer holds ready of one lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from notifications.outbox import Lane
from notifications.transport.kafka.lane_consumer import LaneConsumer
from notifications.transport.kafka.topics import group_protocol
from providers.channels import Channel
from tenants.categories import Priority
from tests.kafka import Kafka, wait_until

LOW_SMS = Lane(Priority.LOW, Channel.SMS)


@pytest.fixture
def lane(kafka: Kafka) -> Iterator[LaneConsumer]:
    kafka.produce(LOW_SMS, *[b"record"] * 6_000)
    consumer = LaneConsumer(LOW_SMS, protocol=group_protocol(), instance="")
    yield consumer
    consumer.close()


def fetched(lane: LaneConsumer, condition: Callable[[], bool]) -> Callable[[], bool]:
    def is_so() -> bool:
        lane.fetch()
        return condition()

    return is_so


def test_a_lane_that_is_drained_is_never_paused(lane: LaneConsumer) -> None:
    """After a pause librdkafka fetches nothing for a second, with work waiting."""
    for _ in range(5_500 // 500):
        wait_until(fetched(lane, lambda: len(lane) >= 500))
        assert not lane.is_paused
        lane.done(lane.peek(500))


def test_a_lane_that_nobody_takes_from_stops_and_goes_on(lane: LaneConsumer) -> None:
    wait_until(fetched(lane, lambda: lane.is_paused))
    held = len(lane)
    for _ in range(200):
        lane.fetch()

    assert held == len(lane) == 2_000
    lane.done(lane.peek(2_000))
    wait_until(fetched(lane, lambda: len(lane) == 1_000))
