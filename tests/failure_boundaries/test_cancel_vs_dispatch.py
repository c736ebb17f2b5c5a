"""Cancelling before, while and after a consumer is at it."""

from __future__ import annotations

import signal
from datetime import timedelta

from django.test import Client

from foundation.ids import parse_public_id
from tests.acme import Api, deliveries, query, run_together, sandbox_calls
from tests.factories.preferences import DeviceFactory
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


def results_of(answer):
    assert answer.status_code == 200, answer.content
    return {known["channel"]: known["result"] for known in answer.json()["channels"]}


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

    assert results_of(answer) == {"in_app": "too_late", "email": "cancelled"}
    clock.advance(timedelta(hours=1))
    consume()
    assert len(query("SELECT 1 FROM sandbox_message")) == 1


def test_a_cancelled_notification_of_ten_minutes_hence_is_never_sent(
    api, consume, clock
):
    """O-TIM-4"""
    due = clock.now() + timedelta(minutes=10)
    notification_id = api.accept(
        channels=["email", "push", "in_app"], send_at=due.isoformat()
    )
    clock.advance(timedelta(minutes=1))

    first = api.cancel(notification_id)
    again = api.cancel(notification_id)

    assert results_of(first) == {
        "email": "cancelled",
        "push": "cancelled",
        "in_app": "cancelled",
    }
    assert (again.status_code, again.content) == (200, first.content)
    for later in (timedelta(minutes=9), timedelta(hours=1), timedelta(days=2)):
        clock.advance(later)
        consume()
    assert {row["status"] for row in deliveries(notification_id)} == {"cancelled"}
    assert query("SELECT 1 FROM sandbox_message") == []
    assert query("SELECT 1 FROM inbox_item") == []


def test_where_the_email_is_sent_and_the_push_pending_only_the_push_is_cancelled(
    api, acme, consume, clock
):
    """O-TIM-4"""
    DeviceFactory.create(tenant=acme, user_id="usr_x", token="sandbox-transient-9")
    notification_id = api.accept(
        channels=["email", "push"],
        recipient={"user_id": "usr_x", "email": "x@example.com"},
    )
    consume()

    first = api.cancel(notification_id)
    again = api.cancel(notification_id)

    assert results_of(first) == {"email": "too_late", "push": "cancelled"}
    assert (again.status_code, again.content) == (200, first.content)
    clock.advance(timedelta(days=2))
    consume()
    email, push = deliveries(notification_id)
    assert (email["status"], push["status"]) == ("sent", "cancelled")
    assert len(sandbox_calls(email["id"])) == len(sandbox_calls(push["id"])) == 1


def test_a_cancellation_that_came_too_late_is_so_at_every_repeat(api, consume):
    """O-TIM-4"""
    notification_id = api.accept()
    consume()

    answers = [api.cancel(notification_id) for _ in range(2)]

    assert [result_of(answer) for answer in answers] == ["too_late"] * 2
    assert answers[0].json()["channels"] == answers[1].json()["channels"]
    assert deliveries(notification_id)[0]["status"] == "sent"


def test_cancelling_twice_gives_the_same_answer(api):
    """Bad input 22"""
    notification_id = api.accept()

    first = api.cancel(notification_id, **{"Idempotency-Key": "stop-1"})
    replay = api.cancel(notification_id, **{"Idempotency-Key": "stop-1"})
    anew = api.cancel(notification_id)

    assert replay.content == first.content
    assert replay.headers["Idempotent-Replayed"] == "true"
    assert anew.json()["channels"][0]["result"] == "cancelled"


def test_a_foreign_or_unknown_notification_is_not_found(api, consume):
    """O-TIM-4, bad input 21: whatever became of it, and nothing comes of asking."""
    sent, cancelled = api.accept(idempotency_key="1"), api.accept(idempotency_key="2")
    api.cancel(cancelled)
    consume()
    pending = api.accept(idempotency_key="3")
    told = query("SELECT count(*) AS n FROM audit_event")
    stranger = Api(Client(), authorization(api_key(TenantFactory.create())))

    foreign = [stranger.cancel(known) for known in (sent, cancelled, pending)]
    unknown = api.cancel("ntf_01J00000000000000000000000")

    assert {answer.status_code for answer in [*foreign, unknown]} == {404}
    assert {answer.json()["type"] for answer in [*foreign, unknown]} == {
        "/problems/not-found"
    }
    assert deliveries(pending)[0]["status"] == "pending"
    assert query("SELECT count(*) AS n FROM audit_event") == told
