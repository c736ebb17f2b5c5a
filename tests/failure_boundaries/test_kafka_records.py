"""Whatever lies in a topic, nothing stops behind it and nothing is sent twice."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from prometheus_client import REGISTRY
from pytest_django.fixtures import Settings
from structlog.testing import capture_logs

from devstack.servers import free_port
from foundation.statements import server_cursor
from notifications.dispatch.loop import SET_ASIDE, Pace
from notifications.management.commands import consume_deliveries
from notifications.outbox import LANES, Lane, Poll, Taken, take
from notifications.transitions import Fence
from notifications.transport.base import Room, Subscription
from notifications.transport.kafka.consuming import KafkaTransport
from notifications.transport.kafka.publisher import Publisher
from notifications.transport.records import Record, encode
from providers.channels import Channel
from tenants.categories import Priority
from tests.acme import ALL, Api, deliveries, query, sandbox_calls
from tests.database_clock import Clock
from tests.kafka import (
    Kafka,
    consuming,
    is_all_finished,
    needs_apache_kafka,
    relaying,
    wait_until,
)

HIGH_EMAIL = Lane(Priority.HIGH, Channel.EMAIL)
EMAIL = Lane(Priority.NORMAL, Channel.EMAIL)
FAR_OFF = (
    "UPDATE outbox SET due_at = now() + interval '9 minutes' RETURNING claim_count"
)
COUNT = "UPDATE delivery SET claim_count = %s WHERE id = %s RETURNING 1"

ONLY_EMAIL = Subscription(
    channels=(Channel.EMAIL,), priorities=(Priority.NORMAL,), lease=ALL.lease
)


def record_of(notification_id: str, *, claim_count: int = 0) -> bytes:
    (delivery,) = deliveries(notification_id)
    fence = Fence(delivery["id"], claim_count)
    return encode(Record(fence, delivery["tenant_id"]))


def taken_now() -> Taken:
    """Take the only row as the relay does."""
    poll = Poll(
        lane=EMAIL,
        floor=datetime(2000, 1, 1, tzinfo=UTC),
        limit=1,
        lease=timedelta(minutes=1),
    )
    with server_cursor() as cursor:
        (row,), _ = take(cursor, poll)
    return row


def stale_records(lane: Lane) -> float:
    name = "notify_stale_records_total"
    return REGISTRY.get_sample_value(name, lane.keys) or 0.0


def put_off() -> None:
    """Date the rows so that only a record leads to them."""
    with server_cursor() as cursor:
        cursor.execute(FAR_OFF)


def test_poison_is_kept_and_stops_nothing(api: Api, kafka: Kafka) -> None:
    """O-REL-4; F23."""
    stale = stale_records(HIGH_EMAIL)
    accepted = api.accept(priority="high")
    put_off()
    unknown = encode(Record(Fence(uuid4(), 0), 1))
    kafka.produce(
        HIGH_EMAIL,
        *(b"\xff\xfe\x00", None, unknown, b"\x01" * 900_000),
        record_of(accepted),
    )

    with consuming():
        wait_until(lambda: deliveries(accepted)[0]["status"] == "sent")

    kept = query("SELECT * FROM rejected_record ORDER BY record_offset")
    assert [(row["record_offset"], row["reason"]) for row in kept] == [
        (0, "unknown_version"),
        (1, "no_value"),
        (2, "unknown_delivery"),
        (3, "wrong_length"),
    ]
    assert {row["topic"] for row in kept} == {f"{kafka.prefix}deliveries.email.high"}
    assert {row["partition"] for row in kept} == {0}
    assert [row["size"] for row in kept] == [3, 0, 29, 900_000]
    assert len(kept[3]["octets"]) == 1024
    assert stale_records(HIGH_EMAIL) == stale


def test_a_delivery_that_cannot_be_claimed_is_published_again_later(
    api: Api, kafka: Kafka, clock: Clock
) -> None:
    """What lies behind its record goes on, and the record is not read again."""
    before, broken, behind, last = (api.accept(idempotency_key=key) for key in "abcd")
    put_off()
    (delivery,) = deliveries(broken)
    query("UPDATE outbox SET published_at = now() RETURNING 1")
    query(COUNT, 5, delivery["id"])
    kafka.produce(EMAIL, record_of(before), *[record_of(broken)] * 2, record_of(behind))

    with consuming(ONLY_EMAIL):
        wait_until(lambda: deliveries(behind)[0]["status"] == "sent")
    query(COUNT, 0, delivery["id"])
    kafka.produce(EMAIL, record_of(last))
    with consuming(ONLY_EMAIL):
        wait_until(lambda: deliveries(last)[0]["status"] == "sent")

    assert deliveries(before)[0]["status"] == "sent"
    assert deliveries(broken)[0]["status"] == "pending"
    assert query("SELECT published_at FROM outbox") == [{"published_at": None}]

    clock.advance(SET_ASIDE)
    with relaying(Priority.NORMAL), consuming(ONLY_EMAIL):
        wait_until(is_all_finished)

    assert len(sandbox_calls(delivery["id"])) == 1


def test_eight_records_and_eight_workers_make_one_call(api: Api, kafka: Kafka) -> None:
    """O-REL-1 (a); F19."""
    accepted = api.accept()
    put_off()
    record = record_of(accepted)
    kafka.produce(EMAIL, *[record] * 4, partition=0)
    kafka.produce(EMAIL, *[record] * 4, partition=1)

    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(consuming(ONLY_EMAIL))
        wait_until(is_all_finished)

    (delivery,) = deliveries(accepted)
    assert (delivery["status"], delivery["attempt_count"]) == ("sent", 1)
    assert len(sandbox_calls(delivery["id"])) == 1


@pytest.mark.parametrize("claim_count", [1, 7])
def test_a_record_of_another_time_claims_nothing(
    api: Api, kafka: Kafka, claim_count: int
) -> None:
    """F20, F21: stale or early, its fence is not the row's."""
    accepted, other = api.accept(), api.accept(idempotency_key="other")
    put_off()
    stale = stale_records(EMAIL)
    kafka.produce(EMAIL, record_of(accepted, claim_count=claim_count), record_of(other))

    with consuming():
        wait_until(lambda: deliveries(other)[0]["status"] == "sent")

    (delivery,) = deliveries(accepted)
    assert (delivery["status"], delivery["claim_count"]) == ("pending", 0)
    assert query("SELECT 1 FROM rejected_record") == []
    assert stale_records(EMAIL) == stale + 1


def test_a_flood_of_stale_records_is_no_reason_to_rest(
    api: Api, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F21: a round that wins nothing may have dealt with fifty records."""
    monkeypatch.setattr(consume_deliveries, "Pace", partial(Pace, idle_pause=30.0))
    accepted = api.accept()
    put_off()
    stale = record_of(accepted, claim_count=7)
    kafka.produce(EMAIL, *[stale] * 3_000, record_of(accepted))

    with consuming(ONLY_EMAIL):
        wait_until(is_all_finished)


def test_what_is_overdue_and_what_has_a_record_are_claimed_in_turn(
    api: Api, kafka: Kafka
) -> None:
    """Never in one transaction: there two consumers could wait for each other."""
    recorded = api.accept(idempotency_key="recorded", priority="high")
    put_off()
    overdue = api.accept(idempotency_key="overdue", priority="high")
    kafka.produce(HIGH_EMAIL, record_of(recorded))
    transport = KafkaTransport(ALL)
    room = Room(total=10, beside_high=10, by_lane=dict.fromkeys(LANES, 10))

    def claim() -> list[UUID]:
        transport.fetch(limit=10)
        with transaction.atomic(), server_cursor() as cursor:
            fences = transport.claim(cursor, room=room)
            transaction.set_rollback(True)
        return [fence.delivery_id for fence in fences]

    expected = [[deliveries(each)[0]["id"]] for each in (overdue, recorded)]
    try:
        wait_until(lambda: claim() == expected[0])
        wait_until(lambda: claim() == expected[1])
        assert [claim(), claim()] == expected
    finally:
        transport.close()


@needs_apache_kafka
def test_topics_made_anew_are_filled_again(api: Api, kafka: Kafka) -> None:
    """F17, small: what was published and not claimed is published again at once."""
    accepted = [api.accept(idempotency_key=f"k{number}") for number in range(20)]
    with relaying():
        wait_until(
            lambda: query("SELECT 1 FROM outbox WHERE published_at IS NULL") == []
        )
    kafka.delete_topics()
    kafka.declare()

    with relaying(), consuming():
        wait_until(is_all_finished)

    for notification_id in accepted:
        (delivery,) = deliveries(notification_id)
        assert len(sandbox_calls(delivery["id"])) == 1


@needs_apache_kafka
def test_who_runs_through_the_loss_of_all_topics_goes_on(
    api: Api, kafka: Kafka
) -> None:
    """Relay and consumer find out by themselves that the topics are others."""
    with relaying(Priority.NORMAL), consuming(ONLY_EMAIL):
        before = api.accept(idempotency_key="before")
        wait_until(lambda: deliveries(before)[0]["status"] == "sent")
        kafka.delete_topics()
        between = api.accept(idempotency_key="between")
        kafka.declare()
        after = api.accept(idempotency_key="after")
        wait_until(is_all_finished)

    for notification_id in (before, between, after):
        (delivery,) = deliveries(notification_id)
        assert len(sandbox_calls(delivery["id"])) == 1


@needs_apache_kafka
def test_a_topic_that_the_producer_knows_to_be_missing_ends_nothing(
    api: Api, kafka: Kafka, settings: Settings
) -> None:
    """What cannot be produced is not acknowledged, and due again by itself."""
    api.accept()
    settings.KAFKA_CLIENT_OPTIONS = {"topic.metadata.propagation.max.ms": "500"}
    publisher = Publisher(patience=timedelta(seconds=2))
    kafka.delete_topics()
    rows = [taken_now()]

    with capture_logs() as logs:

        def is_refused() -> bool:
            publisher.publish({EMAIL: rows})
            return any(line["event"] == "not_produced" for line in logs)

        wait_until(is_refused)
    kafka.declare()

    wait_until(lambda: publisher.publish({EMAIL: rows}) == rows)


def test_a_consumer_that_starts_without_a_broker_sends_high(
    api: Api, settings: Settings
) -> None:
    settings.DELIVERY_TRANSPORT = "kafka"
    settings.KAFKA_BOOTSTRAP_SERVERS = f"127.0.0.1:{free_port()}"
    high = api.accept(priority="high")

    with consuming():
        wait_until(lambda: deliveries(high)[0]["status"] == "sent", seconds=30)


def test_without_a_relay_high_is_claimed_from_the_outbox(
    api: Api, kafka: Kafka
) -> None:
    high = api.accept(priority="high")
    normal = api.accept(idempotency_key="normal")

    with consuming():
        wait_until(lambda: deliveries(high)[0]["status"] == "sent", seconds=20)

    assert deliveries(normal)[0]["status"] == "pending"
