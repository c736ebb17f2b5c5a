"""The relay of the first design as a process: 500 rows in one transaction, and each of
them waits for its acknowledgement and is updated by itself.

The statements are the first design's, on its own table. Tuned where the algorithm lets
it be: prepared statements, ids in binary, one cursor, a producer that lingers for
nothing and has met its topics.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from uuid import UUID

import psycopg
from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.error import KafkaError

from benchmarks.broker import PRODUCER
from notifications.worker import Stop

_TOPICS = ("notifications.high", "notifications.normal", "notifications.low")
_DUE = """
SELECT id, priority FROM delivery
 WHERE status = 'PENDING' AND next_attempt_at <= now()
 ORDER BY priority, next_attempt_at
 LIMIT 500
   FOR UPDATE SKIP LOCKED
"""
_QUEUED = "UPDATE delivery SET status = 'QUEUED' WHERE id = %s"
# Before it looks again where nothing was due, without the delay.
_IDLE_SECONDS = 0.01

Connection = psycopg.Connection[tuple[UUID, int]]


def main() -> None:
    """Relay until asked to stop."""
    options = _options()
    stop = Stop()
    stop.listen()
    producer = Producer(
        {
            **PRODUCER,
            "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
            "linger.ms": 0,
        }
    )
    topics = topics_of(os.environ["KAFKA_PREFIX"])
    for topic in topics:
        producer.list_topics(topic, timeout=10)
    with psycopg.connect(
        os.environ["DATABASE_URL"], options="-c search_path=seed", autocommit=True
    ) as connection:
        while not stop.asked:
            number = relay_batch(
                connection, producer, topics=topics, ack_seconds=options.ack_seconds
            )
            if options.delay or number == 0:
                stop.wait(options.delay or _IDLE_SECONDS)


def topics_of(prefix: str) -> list[str]:
    """Return the topics by priority: high, normal, low."""
    return [prefix + name for name in _TOPICS]


def relay_batch(
    connection: Connection,
    producer: Producer,
    *,
    topics: Sequence[str],
    ack_seconds: float = 0.0,
) -> int:
    """Publish what is due, one row after the other; return how many rows it was."""
    with connection.transaction(), connection.cursor(binary=True) as cursor:
        due = cursor.execute(_DUE, prepare=True).fetchall()
        for identifier, priority in due:
            _send(producer, topics[priority], str(identifier))
            if ack_seconds:
                time.sleep(ack_seconds)
            cursor.execute(_QUEUED, [identifier], prepare=True)
    return len(due)


def _send(producer: Producer, topic: str, identifier: str) -> None:
    """Return when the broker has it."""
    failures: list[KafkaError] = []
    note = partial(_note_report, failures)
    producer.produce(topic, key=identifier, value=identifier, on_delivery=note)
    producer.flush()
    if failures:
        raise KafkaException(failures[0])


def _note_report(
    failures: list[KafkaError], error: KafkaError | None, _: Message
) -> None:
    if error is not None:
        failures.append(error)


def _options() -> Namespace:
    parser = ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0, help="between batches")
    parser.add_argument(
        "--ack-seconds",
        type=float,
        default=0.0,
        help="how much longer an acknowledgement takes, as over a network to replicas",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
