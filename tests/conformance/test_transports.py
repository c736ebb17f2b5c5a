"""Both transports bring every delivery to its end, once, and lose nothing."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
from django.test import Client

from notifications.management.sample import TEMPLATES, publish
from notifications.transport.base import Subscription
from providers.channels import Channel
from tenants.categories import Priority
from tests.acme import ALL, Api, deliveries, query, sandbox_calls
from tests.database_clock import Clock
from tests.factories.tenants import TenantFactory, api_key, authorization
from tests.kafka import Running, consuming, is_all_finished, relaying, wait_until

CHANNELS = ["email", "sms", "push", "in_app"]
NORMAL_EMAIL = Subscription(
    channels=(Channel.EMAIL,), priorities=(Priority.NORMAL,), lease=ALL.lease
)


def test_every_channel_and_class_arrives(api: Api, running: Running) -> None:
    accepted = [
        api.accept(
            idempotency_key=f"k-{priority}", priority=priority, channels=CHANNELS
        )
        for priority in ("high", "normal", "low")
    ]

    with running():
        wait_until(is_all_finished)

    for notification_id in accepted:
        found = deliveries(notification_id)
        assert {row["status"] for row in found} == {"sent"}
        assert {row["attempt_count"] for row in found} == {1}


def test_many_consumers_send_each_delivery_once(api: Api, running: Running) -> None:
    """O-REL-1 (a)."""
    accepted = [api.accept(idempotency_key=f"k-{number}") for number in range(40)]

    with running(consumers=4):
        wait_until(is_all_finished)

    for notification_id in accepted:
        (delivery,) = deliveries(notification_id)
        assert delivery["status"] == "sent"
        assert len(sandbox_calls(delivery["id"])) == 1


def test_what_fails_for_a_while_is_tried_again(api: Api, running: Running) -> None:
    accepted = api.accept(
        recipient={"user_id": "usr_an", "email": "transient+1@simulate.example"}
    )

    with running():
        wait_until(lambda: deliveries(accepted)[0]["attempt_count"] >= 1)
        query_now = "UPDATE outbox SET due_at = now() RETURNING delivery_id"
        wait_until(lambda: query(query_now) == [] or is_all_finished())
        wait_until(is_all_finished)

    assert deliveries(accepted)[0]["status"] == "sent"


def test_what_is_cancelled_before_it_is_due_is_never_sent(
    api: Api, running: Running
) -> None:
    accepted = api.accept(send_at="2027-01-01T00:00:00Z")
    assert api.cancel(accepted).status_code == 200

    with running():
        other = api.accept(idempotency_key="other")
        wait_until(lambda: deliveries(other)[0]["status"] == "sent")

    (delivery,) = deliveries(accepted)
    assert delivery["status"] == "cancelled"
    assert sandbox_calls(delivery["id"]) == []


def test_what_is_due_in_hours_is_sent_once_and_then_however_often_all_restarts(
    api: Api, running: Running, clock: Clock
) -> None:
    """O-REL-1 (b): relay and consumer are restarted every ten minutes."""
    due = clock.now() + timedelta(hours=3)
    (delivery,) = deliveries(api.accept(send_at=due.isoformat()))
    calls = []

    for restart in range(21):
        is_due = clock.now() >= due
        other = api.accept(idempotency_key=f"now-{restart}")
        with running(of=NORMAL_EMAIL):
            wait_until(is_all_finished if is_due else partial(is_sent, other))
        calls.append((is_due, len(sandbox_calls(delivery["id"]))))
        clock.advance(timedelta(minutes=10))

    assert calls == [(False, 0)] * 18 + [(True, 1)] * 3


def accept_behind_a_backlog(api: Api) -> UUID:
    """Let one tenant have 1,500 rows before another's only one; return that."""
    for number in range(1_500):
        api.accept(idempotency_key=f"k-{number}")
    other = TenantFactory.create()
    publish(other, next(each for each in TEMPLATES if each.name == "invoice_due"))
    (mine,) = deliveries(
        Api(Client(), authorization(api_key(other))).accept(
            recipient={"user_id": "usr_of_other", "email": "an@example.com"}
        )
    )
    delivery_id: UUID = mine["id"]
    return delivery_id


def test_a_tenant_with_a_backlog_does_not_delay_anothers_message(
    api: Api, committed: None
) -> None:
    mine = accept_behind_a_backlog(api)

    with consuming(NORMAL_EMAIL):
        wait_until(is_all_finished)

    calls = query("SELECT delivery_id FROM sandbox_message ORDER BY id")
    assert [call["delivery_id"] for call in calls].index(mine) < 200


@pytest.mark.usefixtures("kafka")
def test_a_tenant_with_a_backlog_does_not_delay_anothers_record(api: Api) -> None:
    """In which order two partitions are read is the broker's affair."""
    mine = accept_behind_a_backlog(api)
    published = "SELECT published_at FROM outbox WHERE delivery_id = %s"

    with relaying(Priority.NORMAL):
        wait_until(lambda: query(published, mine)[0]["published_at"] is not None)

    (earlier,) = query(
        f"SELECT count(*) AS n FROM outbox WHERE published_at <= ({published})", mine
    )
    # Five hundred a round, of which the second is shared out.
    assert earlier["n"] <= 1_000


def is_sent(notification_id: str) -> bool:
    """Tell whether a notification of one delivery has been sent."""
    return str(deliveries(notification_id)[0]["status"]) == "sent"
