"""Publish records: acks from all replicas, idempotent, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.error import KafkaError

from notifications.outbox import Lane, Taken
from notifications.transport.kafka.topics import connection_settings, topic
from notifications.transport.records import Record, encode

log = structlog.get_logger(__name__)


class Publisher:
    """One long-lived producer; for one thread."""

    def __init__(self, *, patience: timedelta) -> None:
        """Give up on a record after `patience`: by then its row is due again."""
        self._patience = patience.total_seconds()
        self._producer = Producer(
            {
                **connection_settings(),
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": int(self._patience * 1000),
                "allow.auto.create.topics": False,
                "error_cb": _note_error,
            }
        )

    def warm_up(self, lanes: Iterable[Lane]) -> None:
        """Connect and learn where the partitions are: the first record shall not wait.

        A broker that is away is no reason not to start.
        """
        for lane in lanes:
            try:
                self._producer.list_topics(topic(lane), timeout=self._patience)
            except KafkaException as refused:
                log.warning("broker_unreachable", error=refused.args[0].name())
                return

    def is_reachable(self) -> bool:
        """Ask the broker whether it is there."""
        try:
            self._producer.list_topics(timeout=1.0)
        except KafkaException:
            return False
        return True

    def publish(self, taken: Mapping[Lane, Sequence[Taken]]) -> list[Taken]:
        """Publish rows of the outbox; return those whose record the broker has.

        Of the others nothing is known; they are due again by themselves.
        """
        acknowledged: list[Taken] = []
        for lane, rows in taken.items():
            self._produce(topic(lane), rows, acknowledged)
        self._producer.flush(self._patience)
        return list(acknowledged)

    def _produce(
        self, name: str, rows: Sequence[Taken], acknowledged: list[Taken]
    ) -> None:
        records: list[dict[str, Any]] = [
            {
                "value": encode(Record(row.fence, row.tenant_id)),
                "callback": partial(_note_report, acknowledged, row),
            }
            for row in rows
        ]
        try:
            self._producer.produce_batch(name, records)
        except (KafkaException, BufferError) as refused:
            log.warning("not_produced", topic=name, error=str(refused))
        # A topic that was missing a moment ago, for one, until it has noticed.
        for error in {str(record.get("_error", "")) for record in records} - {""}:
            log.warning("not_produced", topic=name, error=error)

    def close(self) -> None:
        """Wait for what is under way."""
        self._producer.flush(self._patience)


def _note_report(
    acknowledged: list[Taken], row: Taken, error: KafkaError | None, _: Message
) -> None:
    if error is None:
        acknowledged.append(row)


def _note_error(error: KafkaError) -> None:
    log.warning("broker_error", error=error.name())
