"""What librdkafka's mock broker cannot do, for development without Apache Kafka.

It has no controller: no topic can be made, described or deleted by name. It makes one
for whoever asks for it, and knows classic groups.
"""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import Producer

_SECONDS = 5.0


def make_by_asking(names: Iterable[str], settings: dict[str, object]) -> list[str]:
    """Ask for the topics, which makes them; return their names."""
    producer = Producer(settings)
    wanted = list(names)
    for name in wanted:
        producer.list_topics(name, timeout=_SECONDS)
    return wanted


def names_present(settings: dict[str, object]) -> set[str]:
    """Return the names of all topics; raise KafkaException if it does not answer."""
    return set(Producer(settings).list_topics(timeout=_SECONDS).topics)
