"""An Apache Kafka of a benchmark's own, and what lies in its topics."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition, libversion
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.failure import BenchmarkFailed
from devstack.folders import locked, throw_away_folder
from devstack.kafka import POM, running_kafka

PARTITIONS = 6  # as `manage.py declare_topics` has it
# What every producer here has in common with the platform's own.
PRODUCER = {
    "acks": "all",
    "log_level": 2,  # what fails is raised
    "enable.idempotence": True,
    "allow.auto.create.topics": False,
    "topic.metadata.refresh.interval.ms": 5_000,
    "socket.keepalive.enable": True,
}
_WARM_UP_TOPIC, _WARM_UP_RECORDS = "warm-up", 100_000
_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kafka:
    """Where it listens and, unless it runs in a container, who it is."""

    bootstrap: str
    pid: int | None

    def describe(self) -> dict[str, Any]:
        """Report what it is; of one node, whose acknowledgement waits for no disk."""
        version = re.search(r"<kafka.version>(.*)</kafka.version>", POM.read_text())
        return {
            "version": version[1] if version else "unknown",
            "librdkafka": libversion()[0],
            "partitions": PARTITIONS,
            "replication": 1,
        }

    def make_topics(self, names: Sequence[str]) -> None:
        """Make topics like the platform's."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        wanted = [
            NewTopic(name, num_partitions=PARTITIONS, replication_factor=1)
            for name in names
        ]
        for made in admin.create_topics(wanted).values():
            made.result(timeout=_SECONDS)

    def partitions(self, prefix: str) -> list[tuple[str, int]]:
        """Return topic and number of all partitions of the topics that begin so."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        known = admin.list_topics(timeout=_SECONDS).topics
        return [
            (name, partition)
            for name, topic in sorted(known.items())
            for partition in topic.partitions
            if name.startswith(prefix)
        ]


@contextmanager
def fresh_kafka() -> Iterator[Kafka]:
    """Run a broker that nobody else uses, warmed up; refuse a mock."""
    if "KAFKA_BOOTSTRAP_SERVERS" in os.environ:
        raise BenchmarkFailed(
            "KAFKA_BOOTSTRAP_SERVERS names a broker: a benchmark starts its own"
        )
    with (
        throw_away_folder() as folder,
        locked(folder),
        running_kafka(folder) as broker,
    ):
        if not broker.is_real:
            raise BenchmarkFailed(
                "an acknowledgement of the mock broker costs nothing: install a JDK 17"
                " with Maven, or Docker"
            )
        kafka = Kafka(bootstrap=broker.bootstrap, pid=_working_in(folder / "kafka"))
        _warm_up(kafka)
        yield kafka


def _warm_up(kafka: Kafka) -> None:
    """Send single records until the broker has compiled what that takes.

    One that was just started needs 1 to 5 ms for an acknowledgement, and 0.2 ms some
    80,000 requests later: whoever waits for each would be measured far too slow.
    """
    kafka.make_topics([_WARM_UP_TOPIC])
    producer = Producer(
        {
            **PRODUCER,
            "bootstrap.servers": kafka.bootstrap,
            "linger.ms": 0,
            "batch.num.messages": 1,
        }
    )
    for number in range(_WARM_UP_RECORDS):
        producer.produce(_WARM_UP_TOPIC, b"", partition=number % PARTITIONS)
        if number % 1_000 == 0:
            producer.flush()
    if producer.flush():
        raise BenchmarkFailed("the broker does not take records")


def _working_in(home: Path) -> int | None:
    """Find the process whose working directory this is, where there is /proc."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or it is another user's
            if (process / "cwd").readlink() == home:
                return int(process.name)
    return None


class Reader:
    """Reads what came since it last read, of topics that begin alike; joins no group.

    It is connected only meanwhile, so as to be no part of what is measured.
    """

    def __init__(self, kafka: Kafka, prefix: str) -> None:
        self._bootstrap = kafka.bootstrap
        self._read_to = dict.fromkeys(kafka.partitions(prefix), 0)

    def read(self) -> list[bytes]:
        """Return the values up to the high watermarks of this moment."""
        with self._connected() as consumer:
            ends = {place: _end(consumer, *place) for place in self._read_to}
            consumer.assign(
                [
                    TopicPartition(*place, begin)
                    for place, begin in self._read_to.items()
                ]
            )
            values = list(_take(consumer, sum(ends.values()) - self._total))
        self._read_to = ends
        return values

    @property
    def _total(self) -> int:
        return sum(self._read_to.values())

    @contextmanager
    def _connected(self) -> Iterator[Consumer]:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "benchmark",
                "enable.auto.commit": False,
            }
        )
        try:
            yield consumer
        finally:
            consumer.close()


def _end(consumer: Consumer, topic: str, partition: int) -> int:
    place = TopicPartition(topic, partition)
    found = consumer.get_watermark_offsets(place, timeout=_SECONDS)
    if found is None:
        raise BenchmarkFailed(f"{topic} does not tell its watermarks")
    return int(found[1])


def _take(consumer: Consumer, number: int) -> Iterator[bytes]:
    deadline = time.monotonic() + _SECONDS
    while number > 0:
        messages = consumer.consume(min(number, 10_000), timeout=1.0)
        if not messages and time.monotonic() > deadline:
            raise BenchmarkFailed(f"{number} records cannot be read")
        for message in messages:
            if (error := message.error()) is not None:
                raise BenchmarkFailed(f"a record cannot be read: {error}")
            number -= 1
            yield message.value() or b""
