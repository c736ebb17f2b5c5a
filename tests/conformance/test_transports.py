"""Both transports bring every delivery to its end, once, and lose nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from tests.acme import Api, deliveries, query, sandbox_calls
from tests.kafka import consuming, is_all_finished, relaying, wait_until

Running = Callable[..., AbstractContextManager[None]]


@pytest.fixture(params=["postgres", "kafka"])
def running(request: pytest.FixtureRequest) -> Running:
    """Return a context in which everything runs that the transport needs."""
    if request.param == "kafka":
        request.getfixturevalue("kafka")

    @contextmanager
    def run(consumers: int = 1) -> Iterator[None]:
        with ExitStack() as stack:
            if request.param == "kafka":
                stack.enter_context(relaying())
            for _ in range(consumers):
                stack.enter_context(consuming())
            yield

    return run


CHANNELS = ["email", "sms", "push", "in_app"]


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
