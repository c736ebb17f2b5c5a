"""One lane's consumer: fetched records in order, and how far they are dealt with."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import structlog
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka.error import KafkaError

from notifications.outbox import Lane
from notifications.transport.kafka.topics import (
    LONGEST_SESSION_SECONDS,
    connection_settings,
    group,
    topic,
)

log = structlog.get_logger(__name__)

# As many are held ready; librdkafka keeps as many more and then fetches no more.
_READY = 1_000
# A lane that nobody takes from still grows by one with every look, and is paused in
# the end. Not sooner: after a pause librdkafka needs a second until it fetches again.
_HIGH_WATERMARK, _LOW_WATERMARK = 2 * _READY, _READY // 4


class Fetched(NamedTuple):
    """A record as it came, and where from; one that is skipped claims nothing."""

    partition: int
    offset: int
    octets: bytes | None
    is_skipped: bool = False


class LaneConsumer:
    """Fetches without waiting; for one thread.

    Offsets are stored when claims have been committed and go to the broker every
    second: from a claim on the outbox row alone says what becomes of a delivery, and
    its record could not claim it again.
    """

    def __init__(self, lane: Lane, *, protocol: str, instance: str) -> None:
        self.lane = lane
        self._topic = topic(lane)
        self._waiting: deque[Fetched] = deque()
        self.is_paused = False
        # After a fatal error librdkafka never fetches again.
        self.is_broken = False
        self._consumer = Consumer(
            {
                **connection_settings(),
                **_membership(protocol, instance),
                "group.id": group(lane),
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.offset.store": False,
                "auto.commit.interval.ms": 1_000,
                "allow.auto.create.topics": False,
                "fetch.wait.max.ms": 20 if lane.is_high else 100,
                # A consumer must not hoard what others could send.
                "queued.min.messages": _READY,
                "queued.max.messages.kbytes": 1_024,
                # By default a queue that was full stands still for a second.
                "fetch.queue.backoff.ms": 20,
                "error_cb": self._note_error,
            }
        )
        self._consumer.subscribe(
            [self._topic], on_assign=self._assigned, on_revoke=self._revoked
        )

    def __len__(self) -> int:
        return len(self._waiting)

    def fetch(self) -> None:
        """Take over what has arrived; pause at one watermark, resume at the other."""
        if self.is_paused and len(self._waiting) <= _LOW_WATERMARK:
            self._consumer.resume(self._consumer.assignment())
            self.is_paused = False
        # While paused too: it serves rebalances and proves that we live.
        room = max(_READY - len(self._waiting), 1)
        for message in self._consumer.consume(room, timeout=0):
            self._take_over(message)
        if not self.is_paused and len(self._waiting) >= _HIGH_WATERMARK:
            self._consumer.pause(self._consumer.assignment())
            self.is_paused = True

    def peek(self, number: int) -> Sequence[Fetched]:
        """Return the first records without taking them off."""
        return [self._waiting[n] for n in range(min(number, len(self._waiting)))]

    def skip(self, is_meant: Callable[[Fetched], bool]) -> None:
        """Mark waiting records; they stay in line, so that offsets go up in order."""
        for place, record in enumerate(self._waiting):
            if is_meant(record):
                self._waiting[place] = record._replace(is_skipped=True)

    def done(self, records: Iterable[Fetched]) -> None:
        """Take off the first records, which these are, and let their offsets go."""
        ends: dict[int, int] = {}
        for record in records:
            # A rebalance since may have taken it off already.
            if self._waiting and self._waiting[0] is record:
                self._waiting.popleft()
                ends[record.partition] = record.offset + 1
        for partition, offset in ends.items():
            self._store(TopicPartition(self._topic, partition, offset))

    def close(self) -> None:
        """Commit what is stored and leave the group."""
        self._consumer.close()

    def _take_over(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            log.warning("fetch_failed", topic=self._topic, error=error.name())
            return
        partition, offset = message.partition(), message.offset()
        if partition is not None and offset is not None:
            self._waiting.append(Fetched(partition, offset, message.value()))

    def _note_error(self, error: KafkaError) -> None:
        log.warning("broker_error", topic=self._topic, error=error.name())
        self.is_broken = self.is_broken or bool(error.fatal())

    def _store(self, position: TopicPartition) -> None:
        try:
            self._consumer.store_offsets(offsets=[position])
        except KafkaException as refused:
            # The partition is another's by now; its records could claim nothing here.
            log.info("offset_not_stored", topic=self._topic, error=_name(refused))

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        log.info("assigned", topic=self._topic, partitions=_numbers(partitions))
        self.is_paused = False

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """Leave the records of these partitions to whoever has them next."""
        gone = set(_numbers(partitions))
        log.info("revoked", topic=self._topic, partitions=sorted(gone))
        kept = [record for record in self._waiting if record.partition not in gone]
        self._waiting = deque(kept)


def _membership(protocol: str, instance: str) -> dict[str, str | int]:
    """Say how a classic group shares partitions; KIP-848 brokers decide themselves.

    They also refuse a member of the same name until the one that was killed has timed
    out, as a fatal error: there a name would do harm and no good.
    """
    if protocol == "consumer":
        return {}
    return {
        **({"group.instance.id": instance} if instance else {}),
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": 1_000 * LONGEST_SESSION_SECONDS,
    }


def _numbers(partitions: list[TopicPartition]) -> list[int]:
    return [each.partition for each in partitions]


def _name(refused: KafkaException) -> str:
    return str(refused.args[0].name())
