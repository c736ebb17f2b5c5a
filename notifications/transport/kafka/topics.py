"""The topics: one for each channel and class, declared by a command alone."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from confluent_kafka.error import KafkaError
from django.conf import settings

from notifications.outbox import Lane

# How long a lane may lie still after its consumer was killed.
LONGEST_SESSION_SECONDS = 6
_SECONDS = 10.0
_AWAY = {KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}
# The relay publishes nothing while it asks this.
_SECONDS_FOR_IDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a topic is made; an existing one is left as it is."""

    partitions: int
    replication: int
    retention_hours: int
    min_insync_replicas: int


class TopicsUnavailable(Exception):
    """The broker does not tell about its topics now."""


def topic(lane: Lane) -> str:
    """Return the name of a lane's topic."""
    prefix = settings.KAFKA_PREFIX
    return f"{prefix}deliveries.{lane.channel.key}.{lane.priority.key}"


def group(lane: Lane) -> str:
    """Return the consumer group of a lane: a rebalance of one disturbs no other."""
    prefix = settings.KAFKA_PREFIX
    return f"{prefix}notifications.{lane.channel.key}.{lane.priority.key}"


def declare_topics(lanes: Iterable[Lane], layout: Layout) -> list[str]:
    """Make the topics that are not there; return their names."""
    if settings.KAFKA_IS_MOCK:
        return _ask_mock_for([topic(lane) for lane in lanes])
    config = {
        "retention.ms": str(layout.retention_hours * 3_600_000),
        "min.insync.replicas": str(layout.min_insync_replicas),
        "cleanup.policy": "delete",
    }
    wanted = [
        NewTopic(
            topic(lane),
            num_partitions=layout.partitions,
            replication_factor=layout.replication,
            config=config,
        )
        for lane in lanes
    ]
    made = []
    for name, future in _admin().create_topics(wanted).items():
        try:
            future.result(timeout=_SECONDS)
            made.append(name)
        except KafkaException as refused:
            if refused.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
    return made


def topic_ids(lanes: Iterable[Lane]) -> Mapping[Lane, str]:
    """Return the id that the broker gave to each topic; those missing are left out.

    A topic that was deleted and made again has another. Raises TopicsUnavailable.
    """
    names = {topic(lane): lane for lane in lanes}
    if settings.KAFKA_IS_MOCK:
        try:
            present = _admin().list_topics(timeout=_SECONDS_FOR_IDS).topics
        except KafkaException as refused:
            raise TopicsUnavailable(refused.args[0].name()) from refused
        return {lane: name for name, lane in names.items() if name in present}
    described = _admin().describe_topics(
        TopicCollection(list(names)), request_timeout=_SECONDS_FOR_IDS
    )
    found: dict[Lane, str] = {}
    for name, future in described.items():
        try:
            found[names[name]] = str(future.result(_SECONDS_FOR_IDS + 1).topic_id)
        except KafkaException as refused:
            code = refused.args[0].code()
            if code != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise TopicsUnavailable(refused.args[0].name()) from refused
        except TimeoutError as late:
            raise TopicsUnavailable("no answer") from late
    return found


def group_protocol() -> str:
    """Ask the broker which kind of groups suits it; see choose_protocol.

    Raises TopicsUnavailable where no broker answers in time.
    """
    if settings.KAFKA_IS_MOCK:
        return "classic"
    admin = _admin()
    try:
        brokers = list(admin.list_topics(timeout=1).brokers)
    except KafkaException as refused:
        raise TopicsUnavailable(refused.args[0].name()) from refused
    resource = ConfigResource(ResourceType.BROKER, str(brokers[0]))
    try:
        (future,) = admin.describe_configs([resource]).values()
        known = future.result(timeout=_SECONDS)
    except TimeoutError as late:
        raise TopicsUnavailable("no answer") from late
    except KafkaException as refused:
        if refused.args[0].code() in _AWAY:
            raise TopicsUnavailable(refused.args[0].name()) from refused
        return "classic"  # it does not tell us
    return choose_protocol({name: entry.value for name, entry in known.items()})


def choose_protocol(broker: Mapping[str, str | None]) -> str:
    """Return "consumer" (KIP-848) where the broker's configuration has it, and where
    it soon gives the partitions of a member that was killed to others.

    There the broker alone says how soon, and 45 seconds is its default. In a classic
    group the members say it.
    """
    protocols = broker.get("group.coordinator.rebalance.protocols") or ""
    session = int(broker.get("group.consumer.session.timeout.ms") or 0)
    is_quick = session <= 1_000 * LONGEST_SESSION_SECONDS
    return "consumer" if "consumer" in protocols.split(",") and is_quick else "classic"


def connection_settings() -> dict[str, Any]:
    """Return what every client needs: where the brokers are, and what operators add."""
    return {
        # librdkafka's own lines would go to stderr past our format.
        "logger": logging.getLogger("librdkafka"),
        "bootstrap.servers": settings.KAFKA_BOOTSTRAP_SERVERS,
        "client.id": "notifications",
        "topic.metadata.refresh.interval.ms": 5_000,
        # The default lets it grow to ten seconds: so long after the broker is back.
        "reconnect.backoff.max.ms": 1_000,
        "socket.keepalive.enable": True,
        **settings.KAFKA_CLIENT_OPTIONS,
    }


def _ask_mock_for(names: list[str]) -> list[str]:
    """Make topics on librdkafka's mock broker: it makes those that are asked for.

    It has no controller, and so can neither be told to make one nor describe them.
    """
    for name in names:
        _admin().list_topics(name, timeout=_SECONDS)
    return names


def _admin() -> AdminClient:
    # One for the process: futures of one that nobody holds fail.
    return _admin_of(settings.KAFKA_BOOTSTRAP_SERVERS)


@cache
def _admin_of(_: str) -> AdminClient:
    return AdminClient(connection_settings())
