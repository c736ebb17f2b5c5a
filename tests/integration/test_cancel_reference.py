"""POST /v1/notifications/cancel: all of one reference, page by page, truly told."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.acme import Api, deliveries, events, query, run_together
from tests.factories.tenants import TenantFactory, api_key, authorization

CANCEL = "/v1/notifications/cancel"
KEY = "Idempotency-Key"
REFERENCE = "inv_928"
NOTHING: dict[str, object] = {"items": [], "next_cursor": None}


@pytest.fixture
def plain_api(api) -> Api:
    """As a client sees it: a bug is an answer, too."""
    return Api(Client(raise_request_exception=False), api.headers)


def accept_many(api: Api, name: str, count: int, **changes: Any) -> list[str]:
    """Accept some under the reference, the oldest first."""
    return [
        api.accept(
            **{"idempotency_key": f"{name}:{number}", "reference": REFERENCE, **changes}
        )
        for number in range(count)
    ]


def cancelled(api: Api, **body: Any) -> dict[str, Any]:
    answer = api.post(CANCEL, {"reference": REFERENCE, **body})
    assert answer.status_code == 200, answer.content
    page: dict[str, Any] = answer.json()
    return page


def results(page: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {
        item["notification_id"]: {
            known["channel"]: known["result"] for known in item["channels"]
        }
        for item in page["items"]
    }


def statuses(*notification_ids: str) -> set[str]:
    return {row["status"] for one in notification_ids for row in deliveries(one)}


def events_told() -> dict[str, int]:
    rows = query("SELECT kind, count(*) AS n FROM audit_event GROUP BY kind")
    return {row["kind"]: row["n"] for row in rows}


def test_every_channel_of_every_notification_gets_its_true_answer(api, consume):
    def person(behaviour: str) -> dict[str, str]:
        return {"user_id": "usr_x", "email": f"{behaviour}@simulate.example"}

    (sent,) = accept_many(api, "sent", 1)
    (maybe,) = accept_many(api, "maybe", 1, recipient=person("timeout+1"))
    mixed = accept_many(
        api,
        "mixed",
        1,
        recipient=person("transient+9"),
        channels=["in_app", "email"],
    )[0]
    consume()
    (pending,) = accept_many(api, "pending", 1, channels=["email", "sms"])

    page = cancelled(api)

    assert page["next_cursor"] is None
    assert results(page) == {
        sent: {"email": "too_late"},
        maybe: {"email": "stopped_outcome_unknown"},
        mixed: {"in_app": "too_late", "email": "cancelled"},
        pending: {"email": "cancelled", "sms": "cancelled"},
    }
    told = {
        known["delivery_id"]: known["status"]
        for item in page["items"]
        for known in item["channels"]
    }
    standing = [api.standing(one) for one in (sent, maybe, mixed, pending)]
    assert told == {
        known["delivery_id"]: known["status"]
        for one in standing
        for known in one["channels"]
    }


def test_an_item_is_what_cancelling_that_one_answers(api):
    (notification_id,) = accept_many(api, "a", 1, channels=["email", "sms"])

    (item,) = cancelled(api)["items"]

    assert item == api.cancel(notification_id).json()


def test_nothing_else_is_touched(api):
    mine = accept_many(api, "mine", 2)
    others = accept_many(api, "other", 1, reference=f"{REFERENCE}0")
    others += accept_many(api, "none", 1, reference=None)
    stranger = Api(Client(), authorization(api_key(TenantFactory.create())))

    assert cancelled(stranger) == NOTHING
    assert statuses(*mine, *others) == {"pending"}
    assert list(results(cancelled(api))) == mine
    assert statuses(*mine) == {"cancelled"}
    assert statuses(*others) == {"pending"}


def test_pages_go_on_to_the_end_and_meet_what_is_accepted_meanwhile(api):
    accepted = accept_many(api, "old", 7)
    seen: list[str] = []
    cursor = None
    for number in range(9):
        page = cancelled(api, cursor=cursor, limit=2)
        seen += results(page)
        stopped = statuses(*seen)
        assert len(page["items"]) <= 2
        assert stopped == {"cancelled"}
        if number == 1:
            accepted += accept_many(api, "new", 2)
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert seen == accepted


def test_a_reference_that_nobody_used_has_an_empty_page(api):
    assert cancelled(api, reference="nothing") == NOTHING


def test_a_page_asked_for_again_answers_the_same_and_stops_nothing_twice(api):
    accept_many(api, "a", 3, channels=["email", "sms"])

    first, again = cancelled(api), cancelled(api)

    assert first == again
    told = events_told()
    assert told["delivery.cancelled"] == 6
    assert told["notification.cancel_asked"] == 6


def test_the_same_key_gives_the_stored_page_and_is_good_for_no_other(api):
    accept_many(api, "a", 3)
    body = {"reference": REFERENCE, "limit": 2}
    first = api.post(CANCEL, body, **{KEY: "stop:1"})
    accept_many(api, "later", 1)

    again = api.post(CANCEL, body, **{KEY: "stop:1"})
    behind = {**body, "cursor": first.json()["next_cursor"]}
    reused = api.post(CANCEL, behind, **{KEY: "stop:1"})

    assert again.content == first.content
    assert again["Idempotent-Replayed"] == "true"
    assert reused.status_code == 409
    assert reused.json()["type"] == "/problems/idempotency-key-reused"
    assert events_told()["delivery.cancelled"] == 2


def test_the_trail_tells_what_it_tells_of_a_single_one(api):
    (single,) = accept_many(api, "single", 1, reference=None)
    (of_reference,) = accept_many(api, "many", 1)
    api.cancel(single)
    cancelled(api)

    assert events(single) == events(of_reference)
    told = query(
        "SELECT actor, kind, reason, detail FROM audit_event"
        " WHERE kind ~ 'cancel' ORDER BY kind, id"
    )
    assert told[0] == told[1]
    assert told[2] == told[3]
    assert told[0]["actor"] == "service:billing"


def test_a_test_key_stops_test_notifications_alone(api, acme):
    test_api = Api(Client(), authorization(api_key(acme, is_test=True, service="ci")))
    live = accept_many(api, "live", 2)
    (test,) = accept_many(test_api, "test", 1)

    first = cancelled(test_api, limit=2)
    second = cancelled(test_api, limit=2, cursor=first["next_cursor"])

    assert first["items"] == []
    assert list(results(second)) == [test]
    assert second["next_cursor"] is None
    assert statuses(*live) == {"pending"}
    assert list(results(cancelled(api))) == [*live, test]


def test_two_at_once_answer_alike(api):
    accepted = accept_many(api, "a", 20, channels=["email", "sms"])
    callers = [Api(Client(), api.headers) for _ in range(3)]

    pages = run_together(*(lambda one=one: cancelled(one) for one in callers))

    assert pages[0] == pages[1] == pages[2]
    assert list(results(pages[0])) == accepted
    assert events_told()["delivery.cancelled"] == 40


GOOD: dict[str, object] = {"reference": REFERENCE}
INVALID = "invalid-request"
REFUSED: list[tuple[object, dict[str, str], int, str, list[str]]] = [
    ("{", {}, 400, "malformed-request", []),
    ("[]", {}, 422, INVALID, [""]),
    ("null", {}, 422, INVALID, [""]),
    ({}, {}, 422, INVALID, ["/reference"]),
    ({"reference": None}, {}, 422, INVALID, ["/reference"]),
    ({"reference": ""}, {}, 422, INVALID, ["/reference"]),
    ({"reference": 5}, {}, 422, INVALID, ["/reference"]),
    ({"reference": [REFERENCE]}, {}, 422, INVALID, ["/reference"]),
    ({"reference": "r" * 201}, {}, 422, INVALID, ["/reference"]),
    ('{"reference": "a\\u0000"}', {}, 422, INVALID, ["/reference"]),
    (GOOD | {"limit": 0}, {}, 422, INVALID, ["/limit"]),
    (GOOD | {"limit": 501}, {}, 422, INVALID, ["/limit"]),
    (GOOD | {"limit": "5"}, {}, 422, INVALID, ["/limit"]),
    (GOOD | {"limit": True}, {}, 422, INVALID, ["/limit"]),
    (GOOD | {"limit": None}, {}, 422, INVALID, ["/limit"]),
    (GOOD | {"cursor": ""}, {}, 422, INVALID, ["/cursor"]),
    (GOOD | {"cursor": 7}, {}, 422, INVALID, ["/cursor"]),
    (GOOD | {"cursor": "x"}, {}, 400, "invalid-cursor", []),
    (GOOD | {"cursor": "é"}, {}, 400, "invalid-cursor", []),
    (GOOD | {"tenant_id": 2}, {}, 422, INVALID, ["/tenant_id"]),
    (GOOD | {"channels": ["email"]}, {}, 422, INVALID, ["/channels"]),
    (GOOD | {"idempotency_key": 5}, {}, 422, INVALID, ["/idempotency_key"]),
    (GOOD | {"idempotency_key": ""}, {}, 400, "idempotency-key-invalid", []),
    (GOOD, {KEY: "k" * 256}, 400, "idempotency-key-invalid", []),
    (GOOD | {"idempotency_key": "a"}, {KEY: "b"}, 400, "idempotency-key-mismatch", []),
    (GOOD, {"Content-Encoding": "gzip"}, 415, "unsupported-media-type", []),
]


def test_what_cannot_be_read_cancels_nothing_and_is_named(plain_api, subtests):
    (notification_id,) = accept_many(plain_api, "a", 1)
    told = events_told()
    for body, headers, status, slug, pointers in REFUSED:
        with subtests.test(msg=f"{str(body)[:70]} {headers}"[:90]):
            answer = plain_api.post(CANCEL, body, **headers)

            assert answer.status_code == status, answer.content
            problem = answer.json()
            assert problem["type"] == f"/problems/{slug}"
            assert [each["pointer"] for each in problem.get("errors", [])] == pointers
            assert statuses(notification_id) == {"pending"}
            assert events_told() == told


def test_a_cursor_is_good_for_its_reference_alone(api):
    accept_many(api, "a", 2)
    accept_many(api, "b", 2, reference="other")
    theirs = cancelled(api, reference="other", limit=1)["next_cursor"]
    listed = api.get("/v1/notifications", limit=1).json()["next_cursor"]

    for cursor in (theirs, listed):
        answer = api.post(CANCEL, {"reference": REFERENCE, "cursor": cursor})

        assert answer.status_code == 400
        assert answer.json()["type"] == "/problems/invalid-cursor"


def test_it_takes_the_scope_of_cancelling(api, acme):
    (notification_id,) = accept_many(api, "a", 1)
    sender = Api(
        Client(),
        authorization(
            api_key(acme, scopes=["notifications:send", "notifications:read"])
        ),
    )

    answer = sender.post(CANCEL, {"reference": REFERENCE})

    assert answer.status_code == 403
    assert statuses(notification_id) == {"pending"}
