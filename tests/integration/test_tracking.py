"""GET /v1/notifications/{id}: where it stands, and what it waits for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from foundation.ids import new_id, parse_public_id, public_id
from notifications.replay import replay
from tests.acme import Api, deliveries, query
from tests.factories.tenants import TenantFactory, api_key, authorization

LONGEST_BACK_OFF = timedelta(minutes=15)


def accept_for(api: Api, email: str, **changes: Any) -> str:
    recipient = {"user_id": "usr_x", "email": f"{email}@simulate.example"}
    return api.accept(recipient=recipient, **changes)


def delivery(api: Api, notification_id: str) -> dict[str, Any]:
    """Return the only delivery as the API tells of it."""
    channels: list[dict[str, Any]] = api.standing(notification_id)["channels"]
    (known,) = channels
    return known


def waiting(api: Api, notification_id: str) -> tuple[str, str]:
    known = delivery(api, notification_id)
    return known["status"], known["waiting_for"]


def test_a_scheduled_one_waits_for_its_date(api, clock):
    at = clock.now() + timedelta(hours=1)
    notification_id = api.accept(send_at=at.isoformat())

    assert waiting(api, notification_id) == ("pending", "schedule")
    known = delivery(api, notification_id)
    assert datetime.fromisoformat(known["next_attempt_at"]) == at

    clock.set_offset(timedelta(hours=1, seconds=1))
    assert waiting(api, notification_id) == ("pending", "worker")
    assert api.standing(notification_id)["status"] == "accepted"


def test_a_due_one_waits_for_a_worker_and_a_claimed_one_for_nothing(
    api, consumer_process
):
    notification_id = api.accept()
    assert waiting(api, notification_id) == ("pending", "worker")

    dies = consumer_process("--once", NOTIFY_FAILPOINTS="consumer.after_claim=kill")
    dies.communicate(timeout=60)

    assert waiting(api, notification_id) == ("sending", "")
    assert delivery(api, notification_id)["next_attempt_at"] is None
    assert api.standing(notification_id)["status"] == "in_progress"


def test_a_transient_fault_waits_for_a_retry(api, consume, clock):
    notification_id = accept_for(api, "transient")
    before = clock.now()
    consume()

    known = delivery(api, notification_id)
    assert (known["status"], known["waiting_for"]) == ("pending", "retry")
    assert (known["attempts"], known["maybe_sent"]) == (1, False)
    assert (known["reason"], known["code"]) == ("transient_error", "sandbox_transient")
    assert datetime.fromisoformat(known["next_attempt_at"]) >= before
    assert datetime.fromisoformat(known["updated_at"]) >= before


def test_a_rate_limited_one_waits_for_quota(api, consume):
    notification_id = accept_for(api, "rate-limited+0")
    consume()

    known = delivery(api, notification_id)
    assert (known["status"], known["waiting_for"]) == ("pending", "quota")
    assert known["attempts"] == 0


def test_an_unknown_outcome_waits_for_a_retry_and_says_that_it_may_be_there(
    api, consume, clock
):
    notification_id = accept_for(api, "timeout")
    consume()

    known = delivery(api, notification_id)
    assert (known["status"], known["waiting_for"]) == ("pending", "retry")
    assert (known["attempts"], known["maybe_sent"]) == (1, True)
    assert known["reason"] == "outcome_unknown"

    clock.advance(LONGEST_BACK_OFF)
    consume()
    known = delivery(api, notification_id)
    assert (known["status"], known["maybe_sent"]) == ("sent", True)


def test_a_parked_one_waits_for_an_operator_and_a_replayed_one_for_a_worker(
    api, acme, consume
):
    notification_id = accept_for(api, "account-fault")
    consume()
    known = delivery(api, notification_id)
    assert (known["status"], known["waiting_for"]) == ("parked", "operator")
    assert (known["reason"], known["next_attempt_at"]) == ("account_fault", None)
    assert api.standing(notification_id)["status"] == "in_progress"

    replay(
        [parse_public_id("dlv", known["delivery_id"])],
        tenant_ids=[acme.pk],
        actor="staff:an",
    )

    assert waiting(api, notification_id) == ("pending", "worker")


@pytest.mark.parametrize(
    ("email", "status", "reason", "code"),
    [
        ("accept", "sent", "", ""),
        ("permanent", "failed", "rejected_recipient", "sandbox_bad_recipient"),
        ("bad-message", "failed", "permanent_message", "sandbox_bad_message"),
    ],
)
def test_a_finished_one_waits_for_nothing(api, consume, email, status, reason, code):
    notification_id = accept_for(api, email)
    consume()

    known = delivery(api, notification_id)
    assert (known["status"], known["waiting_for"]) == (status, "")
    assert (known["reason"], known["code"]) == (reason, code)
    assert (known["attempts"], known["provider"]) == (1, "sandbox")
    assert known["next_attempt_at"] is None


def test_a_cancelled_an_expired_and_a_suppressed_one_wait_for_nothing(
    api, consume, clock
):
    at = (clock.now() + timedelta(minutes=1)).isoformat()
    expired = api.accept(idempotency_key="a", expires_at=at)
    later = (clock.now() + timedelta(hours=1)).isoformat()
    cancelled = api.accept(idempotency_key="b", send_at=later)
    nobody = {"user_id": "nobody"}
    suppressed = api.accept(idempotency_key="c", recipient=nobody)
    assert api.cancel(cancelled).status_code == 200
    clock.advance(timedelta(minutes=2))
    consume()

    assert waiting(api, expired) == ("expired", "")
    assert waiting(api, cancelled) == ("cancelled", "")
    assert waiting(api, suppressed) == ("suppressed", "")
    assert delivery(api, cancelled)["next_attempt_at"] is None
    for one, state in [(expired, "expired"), (cancelled, "cancelled")]:
        assert api.standing(one)["status"] == state


def test_each_device_has_its_delivery(api, consume):
    api.post(
        "/v1/users/usr_an/devices", {"platform": "fcm", "token": "second-device-of-an"}
    )
    notification_id = api.accept(channels=["push", "in_app"])
    consume()

    channels = [known["channel"] for known in api.standing(notification_id)["channels"]]
    assert sorted(channels) == ["in_app", "push", "push"]
    ids = {row["id"] for row in deliveries(notification_id)}
    told = api.standing(notification_id)["channels"]
    assert {parse_public_id("dlv", known["delivery_id"]) for known in told} == ids


def test_a_foreign_id_is_answered_like_none(api):
    """Bad input 21"""
    notification_id = api.accept()
    other = Api(Client(), authorization(api_key(TenantFactory.create())))
    unknown = public_id("ntf", new_id())
    before = query("SELECT count(*) AS n FROM audit_event")

    answers = [
        call(one)
        for one in (notification_id, unknown)
        for call in (
            lambda one: other.get(f"/v1/notifications/{one}"),
            other.cancel,
            lambda one: other.cancel(one, **{"Idempotency-Key": "k"}),
        )
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert {answer.json()["type"] for answer in answers} == {"/problems/not-found"}
    assert len({answer.json()["detail"] for answer in answers}) == 1
    assert query("SELECT count(*) AS n FROM audit_event") == before
    assert waiting(api, notification_id) == ("pending", "worker")
    assert query("SELECT 1 FROM idempotency_key WHERE key = 'k'") == []


def test_a_malformed_id_is_not_found(api):
    """Bad input 21, 33"""
    good = api.accept()
    malformed = [
        good.lower(),
        good[:-1],
        good + "0",
        "dlv" + good[3:],
        "ntf_8" + good[5:],
        "ntf_" + "U" * 26,
        "ntf_" + "é" * 26,
        "ntf_%00",
        str(parse_public_id("ntf", good)),
        "1",
        "x" * 5000,
        "..%2f..%2fadmin",
    ]
    for text in malformed:
        for answer in (api.get(f"/v1/notifications/{text}"), api.cancel(text)):
            assert answer.status_code == 404, (text, answer.content)
            assert answer["Content-Type"] == "application/problem+json"
