"""librdkafka's mock broker stands in where there is no Apache Kafka."""

from __future__ import annotations

from confluent_kafka import Producer
from pytest_django.fixtures import Settings

from notifications.outbox import LANES
from notifications.transport.kafka.lane_consumer import LaneConsumer
from notifications.transport.kafka.topics import (
    connection_settings,
    declare_topics,
    group_protocol,
    topic,
    topic_ids,
)
from tests.kafka import LAYOUT, wait_until


def test_topics_are_declared_found_and_consumed(settings: Settings) -> None:
    mock = Producer(
        {**connection_settings(), "bootstrap.servers": "", "test.mock.num.brokers": 1}
    )
    (broker,) = mock.list_topics(timeout=10).brokers.values()
    settings.KAFKA_BOOTSTRAP_SERVERS = f"{broker.host}:{broker.port}"
    settings.KAFKA_IS_MOCK = True

    assert topic_ids(LANES) == {}
    declare_topics(LANES, LAYOUT)
    assert set(topic_ids(LANES)) == set(LANES)

    mock.produce(topic(LANES[0]), b"record")
    consumer = LaneConsumer(LANES[0], protocol=group_protocol(), instance="")

    def has_fetched() -> bool:
        consumer.fetch()
        return len(consumer) == 1

    wait_until(has_fetched)
    consumer.close()
