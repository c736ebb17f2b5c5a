"""Whatever lies in a topic, nothing stops behind it and nothing is sent twice."""

from __future__ import annotations

from contextlib import ExitStack
from uuid import uuid4

import pytest
from pytest_django.fixtures import Settings

from devstack.servers import free_port
from foundation.statements import server_cursor
from notifications.outbox import Lane
from notifications.transitions import Fence
from notifications.transport.base import Subscription
from notifications.transport.records import Record, encode
from providers.channels import Channel
from tenants.categories import Priority
from tests.acme import ALL, Api, deliveries, query, sandbox_calls
from tests.kafka import Kafka, consuming, is_all_finished, relaying, wait_until

HIGH_EMAIL = Lane(Priority.HIGH, Channel.EMAIL)
EMAIL = Lane(Priority.NORMAL, Channel.EMAIL)
FAR_OFF = (
    "UPDATE outbox SET due_at = now() + interval '9 minutes' RETURNING claim_count"
)


def record_of(notification_id: str, *, claim_count: int = 0) -> bytes:
    (delivery,) = deliveries(notification_id)
    fence = Fence(delivery["id"], claim_count)
    return encode(Record(fence, delivery["tenant_id"]))


def put_off() -> None:
    """Date the rows so that only a record leads to them."""
    with server_cursor() as cursor:
        cursor.execute(FAR_OFF)


def test_poison_is_kept_and_stops_nothing(api: Api, kafka: Kafka) -> None:
    """O-REL-4; F23."""
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


def test_eight_records_and_eight_workers_make_one_call(api: Api, kafka: Kafka) -> None:
    """O-REL-1 (a); F19."""
    accepted = api.accept()
    put_off()
    record = record_of(accepted)
    kafka.produce(EMAIL, *[record] * 4, partition=0)
    kafka.produce(EMAIL, *[record] * 4, partition=1)

    with ExitStack() as stack:
        for _ in range(8):
            only_email = Subscription(
                channels=(Channel.EMAIL,),
                priorities=(Priority.NORMAL,),
                lease=ALL.lease,
            )
            stack.enter_context(consuming(only_email))
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
    kafka.produce(EMAIL, record_of(accepted, claim_count=claim_count), record_of(other))

    with consuming():
        wait_until(lambda: deliveries(other)[0]["status"] == "sent")

    (delivery,) = deliveries(accepted)
    assert (delivery["status"], delivery["claim_count"]) == ("pending", 0)
    assert query("SELECT 1 FROM rejected_record") == []


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
