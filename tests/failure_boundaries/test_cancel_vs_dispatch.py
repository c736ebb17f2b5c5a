"""Cancelling while a consumer is at it."""

from __future__ import annotations

import signal
from collections import Counter
from datetime import timedelta

from django.test import Client

from foundation.ids import parse_public_id
from tests.acme import Api, deliveries, query, run_together, sandbox_calls
from tests.factories.tenants import TenantFactory, api_key, authorization
from tests.failure_boundaries.test_outbox_retry import wait_until_stopped

LEASE_OVER = timedelta(seconds=61)


def result_of(answer):
    if answer.status_code == 409:
        assert answer.json()["type"] == "/problems/too-late"
        return "too_late"
    assert answer.status_code == 200
    (channel,) = answer.json()["channels"]
    return channel["result"]


def test_what_answered_cancelled_is_never_sent(api, consume):
    """F52, O-TIM-4: many races, each with one true answer."""
    seen: Counter[str] = Counter()
    for number in range(25):
        notification_id = api.accept(idempotency_key=f"race-{number}")
        canceller = Api(Client(), api.headers)

        answer, consumed = run_together(
            lambda: canceller.cancel(notification_id),  # noqa: B023 - run here
            consume,
        )

        assert consumed is None
        (delivery,) = deliveries(notification_id)
        calls = len(sandbox_calls(delivery["id"]))
        result = result_of(answer)
        seen[result] += 1
        if result == "cancelled":
            assert (delivery["status"], calls) == ("cancelled", 0)
        else:
            assert result == "too_late"
            assert (delivery["status"], calls) == ("sent", 1)
    assert seen.total() == 25


def test_what_a_reference_answered_cancelled_is_never_sent(api, consume):
    """Page by page, while a consumer is at the same notifications."""
    for number in range(60):
        api.accept(
            idempotency_key=f"race-{number}", reference="r", channels=["email", "sms"]
        )
    canceller = Api(Client(), api.headers)
    told: dict[str, str] = {}

    def cancel_all() -> None:
        body = {"reference": "r", "limit": 7}
        while "cursor" not in body or body["cursor"]:
            page = canceller.post("/v1/notifications/cancel", body).json()
            for item in page["items"]:
                for known in item["channels"]:
                    told[known["delivery_id"]] = known["result"]
            body["cursor"] = page["next_cursor"]

    assert run_together(cancel_all, consume) == [None, None]

    assert len(told) == 120
    for delivery_id, result in told.items():
        calls = len(sandbox_calls(parse_public_id("dlv", delivery_id)))
        assert (result, calls) in {("cancelled", 0), ("too_late", 1)}


def test_cancel_before_the_claim_stops_every_channel(api, consume):
    notification_id = api.accept(channels=["email", "push", "in_app"])

    answer = api.cancel(notification_id)
    consume()

    assert {known["result"] for known in answer.json()["channels"]} == {"cancelled"}
    assert {row["status"] for row in deliveries(notification_id)} == {"cancelled"}
    assert query("SELECT 1 FROM sandbox_message") == []
    assert query("SELECT 1 FROM outbox") == []
    assert api.standing(notification_id)["status"] == "cancelled"


def test_cancel_after_the_send_answers_too_late(api, consume):
    notification_id = api.accept()
    consume()

    assert result_of(api.cancel(notification_id)) == "too_late"


def test_cancel_while_sending_answers_too_late(api, consumer_process, consume):
    """Bad input 23"""
    notification_id = api.accept()
    process = consumer_process("--once", NOTIFY_FAILPOINTS="consumer.after_claim=stop")
    wait_until_stopped(process.pid)

    assert result_of(api.cancel(notification_id)) == "too_late"

    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    assert deliveries(notification_id)[0]["status"] == "sent"


def test_a_worker_paused_between_claim_and_call_does_not_call_after_its_lease(
    api, consumer_process, consume, clock
):
    """F27: it wakes up after another one has taken over, and finds its claim over."""
    notification_id = api.accept()
    process = consumer_process(
        "--once",
        # A lease so short is refused by the system checks, rightly.
        "--skip-checks",
        NOTIFY_FAILPOINTS="consumer.after_claim=stop",
        CLAIM_LEASE_SECONDS="1",
    )
    wait_until_stopped(process.pid)
    clock.advance(LEASE_OVER)
    consume()
    (delivery,) = deliveries(notification_id)
    assert delivery["status"] == "sent"

    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)

    assert len(sandbox_calls(delivery["id"])) == 1


def test_mixed_channels_get_an_answer_each(api, consume, clock):
    """O-TIM-4: one went out, the other waits for its retry."""
    notification_id = api.accept(
        channels=["in_app", "email"],
        recipient={"user_id": "usr_x", "email": "transient+9@simulate.example"},
    )
    consume()

    answer = api.cancel(notification_id)

    results = {known["channel"]: known["result"] for known in answer.json()["channels"]}
    assert results == {"in_app": "too_late", "email": "cancelled"}
    clock.advance(timedelta(hours=1))
    consume()
    assert len(query("SELECT 1 FROM sandbox_message")) == 1


def test_cancelling_twice_gives_the_same_answer(api):
    """Bad input 22"""
    notification_id = api.accept()

    first = api.cancel(notification_id, **{"Idempotency-Key": "stop-1"})
    replay = api.cancel(notification_id, **{"Idempotency-Key": "stop-1"})
    anew = api.cancel(notification_id)

    assert replay.content == first.content
    assert replay.headers["Idempotent-Replayed"] == "true"
    assert anew.json()["channels"][0]["result"] == "cancelled"


def test_a_foreign_or_unknown_notification_is_not_found(api, acme):
    """Bad input 21"""
    notification_id = api.accept()
    stranger = Api(Client(), authorization(api_key(TenantFactory.create())))

    foreign = stranger.cancel(notification_id)
    unknown = api.cancel("ntf_01J00000000000000000000000")

    assert foreign.status_code == unknown.status_code == 404
    assert deliveries(notification_id)[0]["status"] == "pending"
