"""POST /v1/notifications/{id}/cancel: what it takes, and what it says when repeated."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.acme import Api, deliveries, query, submission

KEY = "Idempotency-Key"


@pytest.fixture
def plain_api(api) -> Api:
    """As a client sees it: a bug is an answer, too."""
    return Api(Client(raise_request_exception=False), api.headers)


def post(api: Api, notification_id: str, body: object, **headers: str) -> Any:
    return api.post(f"/v1/notifications/{notification_id}/cancel", body, **headers)


REFUSED: list[tuple[object, dict[str, str], int, str]] = [
    ("{", {}, 400, "malformed-request"),
    ('{"idempotency_key": "a", "idempotency_key": "b"}', {}, 400, "malformed-request"),
    ("[" * 5000, {}, 400, "malformed-request"),
    ('{"idempotency_key": "a\\u0000"}', {}, 422, "invalid-request"),
    ("[]", {}, 422, "invalid-request"),
    ("null", {}, 422, "invalid-request"),
    ({"tenant_id": 2}, {}, 422, "invalid-request"),
    ({"channels": ["email"]}, {}, 422, "invalid-request"),
    ({"idempotency_key": 5}, {}, 422, "invalid-request"),
    ({"idempotency_key": ""}, {}, 400, "idempotency-key-invalid"),
    ({"idempotency_key": "é"}, {}, 400, "idempotency-key-invalid"),
    ({}, {KEY: ""}, 400, "idempotency-key-invalid"),
    ({}, {KEY: "k" * 256}, 400, "idempotency-key-invalid"),
    ({"idempotency_key": "a"}, {KEY: "b"}, 400, "idempotency-key-mismatch"),
    ({}, {KEY: submission()["idempotency_key"]}, 409, "idempotency-key-reused"),
    ({}, {"Content-Encoding": "gzip"}, 415, "unsupported-media-type"),
]


def test_what_cannot_be_read_cancels_nothing(plain_api, subtests):
    """Bad input 1 to 4, 8 to 14"""
    notification_id = plain_api.accept()
    told = query("SELECT count(*) AS n FROM audit_event")
    for body, headers, status, slug in REFUSED:
        with subtests.test(msg=f"{str(body)[:50]} {headers}"[:70]):
            answer = post(plain_api, notification_id, body, **headers)

            assert answer.status_code == status, answer.content
            assert answer.json()["type"] == f"/problems/{slug}"
            assert deliveries(notification_id)[0]["status"] == "pending"
            assert query("SELECT count(*) AS n FROM audit_event") == told


def test_no_body_at_all_will_do(plain_api):
    path = f"/v1/notifications/{plain_api.accept()}/cancel"
    for content_type in ("", "application/json", "application/x-www-form-urlencoded"):
        answer = plain_api.client.generic(
            "POST", path, b"", content_type=content_type, headers=plain_api.headers
        )

        assert answer.status_code == 200, answer.content
        (channel,) = answer.json()["channels"]
        assert channel["result"] == channel["status"] == "cancelled"


def test_the_same_key_gives_the_stored_answer_and_a_new_one_the_present(api):
    """Bad input 22"""
    notification_id = api.accept(channels=["email", "sms"])
    first = api.cancel(notification_id, **{KEY: "cancel:1"})
    again = api.cancel(notification_id, **{KEY: "cancel:1"})
    anew = api.cancel(notification_id, **{KEY: "cancel:2"})

    assert first.content == again.content == anew.content
    assert again["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in anew
    kinds = query("SELECT kind, count(*) AS n FROM audit_event GROUP BY kind")
    told = {row["kind"]: row["n"] for row in kinds}
    assert told["delivery.cancelled"] == 2
    assert told["notification.cancel_asked"] == 2


def test_too_late_names_every_channel(api, consume):
    """Bad input 23"""
    notification_id = api.accept(channels=["email", "sms"])
    consume()

    answers = [
        api.cancel(notification_id, **{KEY: "cancel:1"}),
        api.cancel(notification_id, **{KEY: "cancel:1"}),
        api.cancel(notification_id),
    ]

    for answer in answers:
        assert answer.status_code == 409
        assert answer["Content-Type"] == "application/problem+json"
        problem = answer.json()
        assert problem["type"] == "/problems/too-late"
        assert [
            (known["channel"], known["result"], known["status"])
            for known in problem["channels"]
        ] == [("email", "too_late", "sent"), ("sms", "too_late", "sent")]


def test_where_an_attempt_is_unresolved_it_says_so(api, consume):
    """Bad input 24"""
    notification_id = api.accept(
        recipient={"user_id": "usr_x", "email": "timeout@simulate.example"}
    )
    consume()

    (channel,) = api.cancel(notification_id).json()["channels"]

    assert channel["result"] == "stopped_outcome_unknown"
    assert channel["status"] == "cancelled"
    assert api.standing(notification_id)["channels"][0]["maybe_sent"]


def test_a_notification_without_anything_pending_is_too_late(api):
    notification_id = api.accept(recipient={"user_id": "nobody"})

    answer = api.cancel(notification_id)

    assert answer.status_code == 409
    assert answer.json()["channels"][0]["status"] == "suppressed"
