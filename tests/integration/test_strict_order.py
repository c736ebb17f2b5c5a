"""Ordered categories: a person's messages go out one after the other."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from foundation.ids import parse_public_id
from notifications.order import LOOKS_AGAIN_AFTER
from notifications.replay import replay
from tests.acme import Api, deliveries, events, query
from tests.factories.preferences import DeviceFactory
from tests.factories.tenants import api_key, authorization

FAILS_ONCE = "transient+1@simulate.example"
FAILS_FOR_EVER = "transient+0@simulate.example"
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def in_order(settings):
    settings.ORDERED_CATEGORIES = ["transactional"]


def accept(api: Api, name: str, email: str = FAILS_ONCE, **changes: Any) -> str:
    return api.accept(
        **{
            "idempotency_key": name,
            "recipient": {"user_id": "usr_an", "email": email},
            **changes,
        }
    )


def accept_ordinary(api: Api, name: str, **changes: Any) -> str:
    return accept(api, name, "an@example.com", **changes)


def status(notification_id: str) -> str:
    (delivery,) = deliveries(notification_id)
    return str(delivery["status"])


def waits_for(api: Api, notification_id: str) -> str:
    (delivery,) = api.standing(notification_id)["channels"]
    return str(delivery["waiting_for"])


def sent_in_order() -> list[Any]:
    """Read whom the sandbox accepted messages of, in the order of the calls."""
    rows = query("SELECT delivery_id FROM sandbox_message WHERE accepted ORDER BY id")
    return [row["delivery_id"] for row in rows]


def calls() -> list[Any]:
    rows = query("SELECT delivery_id FROM sandbox_message ORDER BY id")
    return [row["delivery_id"] for row in rows]


def ids(*notification_ids: str) -> list[Any]:
    return [deliveries(one)[0]["id"] for one in notification_ids]


def test_the_next_waits_while_the_one_before_is_tried_again(api, consume, clock):
    first, second = accept(api, "first"), accept(api, "second")

    consume()

    assert waits_for(api, first) == "retry"
    assert waits_for(api, second) == "order"
    assert deliveries(second)[0]["attempt_count"] == 0
    assert calls() == ids(first)

    for _ in range(2):
        clock.advance(MINUTE)
        consume()

    assert calls() == ids(first, first, second, second)
    assert status(first) == status(second) == "sent"


def test_a_category_that_is_not_ordered_waits_for_nobody(api, consume, settings):
    settings.ORDERED_CATEGORIES = ["otp", "marketing"]
    first, second = accept(api, "first"), accept(api, "second")

    consume()

    assert sorted(calls()) == sorted(ids(first, second))
    assert query("SELECT DISTINCT order_key, order_at FROM outbox") == [
        {"order_key": None, "order_at": None}
    ]


def test_a_tenant_chooses_for_itself(api, acme, consume, settings):
    settings.ORDERED_CATEGORIES = []
    acme.ordered_categories = ["transactional"]
    acme.save()
    first, second = accept(api, "first"), accept(api, "second")

    consume()

    assert calls() == ids(first)
    assert waits_for(api, second) == "order"


def test_a_test_holds_no_live_message_up(api, acme, consume):
    tests = Api(api.client, authorization(api_key(acme, is_test=True)))
    first, second = accept(tests, "first"), accept(api, "second")

    consume()

    assert sorted(calls()) == sorted(ids(first, second))


def test_a_queue_is_worked_off_without_waiting_for_the_next_look(api, consume):
    accepted = [accept_ordinary(api, f"n{number}") for number in range(5)]

    consume()

    assert sent_in_order() == ids(*accepted)


def test_what_waits_is_never_claimed_in_vain(api, consume, clock):
    first = accept(api, "first")
    followers = [accept(api, f"n{number}") for number in range(3)]

    consume()

    assert [deliveries(one)[0]["claim_count"] for one in followers] == [0, 0, 0]
    assert [waits_for(api, one) for one in followers] == ["order"] * 3
    assert status(first) == "pending"


def test_a_claim_puts_off_what_came_due_behind_an_unfinished_one(api, consume, clock):
    at = clock.now() + HOUR
    later = accept_ordinary(api, "later", send_at=at.isoformat())
    consume()
    first = accept(api, "first", "an@example.com", send_at=None)
    query(
        "UPDATE outbox SET due_at = due_at + interval '2 hours'"
        " WHERE claim_count = 0 AND delivery_id = %s RETURNING 1",
        *ids(first),
    )

    clock.advance(HOUR + MINUTE)
    consume()

    assert waits_for(api, later) == "order"
    assert events(later) == ["notification.accepted", "delivery.snoozed"]
    assert deliveries(later)[0]["attempt_count"] == 0

    clock.advance(HOUR)
    consume()

    assert sent_in_order() == ids(first, later)


def test_what_is_scheduled_holds_nobody_up_before_its_time(api, consume, clock):
    tomorrow = clock.now() + timedelta(days=1)
    scheduled = accept_ordinary(api, "scheduled", send_at=tomorrow.isoformat())
    today = accept_ordinary(api, "today")

    consume()

    assert status(today) == "sent"
    assert waits_for(api, scheduled) == "schedule"


def test_a_parked_one_holds_the_others_until_it_is_replayed(api, consume):
    first, second = accept(api, "first"), accept(api, "second")
    park(first)
    query(
        "UPDATE outbox SET due_at = app_now() WHERE delivery_id = %s RETURNING 1",
        *ids(second),
    )

    consume()
    assert waits_for(api, second) == "order"

    replay(ids(first), tenant_ids=None, actor="test")
    consume()

    assert calls() == ids(first)
    assert waits_for(api, second) == "order"


def test_a_dead_one_lets_the_others_go_on(api, consume, clock):
    first = accept(api, "first", FAILS_FOR_EVER)
    second = accept(api, "second", FAILS_FOR_EVER)
    consume()
    clock.advance(timedelta(hours=25))

    consume()

    assert status(first) == "dead"
    assert calls() == ids(first, first, second)


def test_a_replayed_one_goes_before_what_waits_for_its_next_attempt(
    api, consume, clock
):
    first = accept(api, "first", FAILS_FOR_EVER)
    second = accept(api, "second", FAILS_FOR_EVER)
    consume()
    clock.advance(timedelta(hours=25))
    consume()
    assert waits_for(api, second) == "retry"

    replay(ids(first), tenant_ids=None, actor="test")
    clock.advance(HOUR)
    consume()

    assert calls() == ids(first, first, second, first)
    assert waits_for(api, second) == "order"


def test_cancelling_the_oldest_wakes_the_next(api, consume):
    first, second = accept(api, "first"), accept(api, "second")
    third = accept(api, "third")
    consume()

    assert api.cancel(first).status_code == 200
    assert waits_for(api, second) == "worker"
    assert waits_for(api, third) == "order"
    consume()

    assert calls() == ids(first, second)


def test_cancelling_another_wakes_nobody(api, consume):
    first, second = accept(api, "first"), accept(api, "second")
    third = accept(api, "third")
    consume()

    assert api.cancel(second).status_code == 200

    assert waits_for(api, first) == "retry"
    assert waits_for(api, third) == "order"


def test_waiting_ends_with_the_expiry(api, consume, clock):
    soon = clock.now() + LOOKS_AGAIN_AFTER / 2
    first = accept(api, "first")
    park(first)
    second = accept(api, "second", expires_at=soon.isoformat())
    third = accept(api, "third")

    clock.advance(LOOKS_AGAIN_AFTER / 2 + timedelta(seconds=1))
    consume()

    (expired,) = deliveries(second)
    assert (expired["status"], expired["reason"]) == ("expired", "expired")
    assert calls() == []
    assert waits_for(api, third) == "order"


def test_who_is_claimed_with_one_that_has_expired_does_not_wait_for_it(
    api, consume, clock
):
    at = clock.now() + HOUR
    end = (at + MINUTE).isoformat()
    expired = accept_ordinary(api, "a", send_at=at.isoformat(), expires_at=end)
    first = accept_ordinary(api, "b", send_at=(at + MINUTE).isoformat())
    second = accept_ordinary(api, "c", send_at=(at + MINUTE).isoformat())

    clock.advance(HOUR + 2 * MINUTE)
    consume()

    assert status(expired) == "expired"
    assert sent_in_order() == ids(first, second)


def test_who_was_not_woken_looks_again(api, consume, clock):
    first, second = accept_ordinary(api, "first"), accept_ordinary(api, "second")
    query(
        "UPDATE outbox SET order_key = order_key + 1 WHERE delivery_id = %s"
        " RETURNING 1",
        *ids(first),
    )
    consume()
    assert waits_for(api, second) == "order"

    clock.advance(LOOKS_AGAIN_AFTER)
    consume()

    assert status(second) == "sent"


@pytest.mark.parametrize(
    "changes",
    [
        {"recipient": {"user_id": "usr_an", "email": "an@example.com"}},
        {"recipient": {"user_id": "usr_binh", "email": FAILS_ONCE}},
        {"priority": "high"},
    ],
)
def test_other_queues_are_independent(api, consume, changes):
    first = accept(api, "first")
    other = accept(api, "other", **changes)

    consume()

    assert sorted(calls()) == sorted(ids(first, other))


def test_a_device_that_fails_holds_up_no_other(api, acme, consume):
    for token in ("sandbox-transient-1", "sandbox-accept"):
        DeviceFactory.create(tenant=acme, user_id="usr_chi", token=token)
    recipient = {"user_id": "usr_chi"}
    accepted = [
        api.accept(idempotency_key=name, channels=["push"], recipient=recipient)
        for name in ("first", "second")
    ]

    consume()

    waiting = [
        {each["waiting_for"] for each in api.standing(one)["channels"]}
        for one in accepted
    ]
    assert waiting == [{"", "retry"}, {"", "order"}]


def test_the_inbox_keeps_its_order(api, consume):
    accepted = [
        api.accept(idempotency_key=f"n{number}", channels=["in_app"])
        for number in range(3)
    ]

    consume()

    told = query(
        "SELECT notification_id FROM audit_event WHERE kind = 'delivery.sent'"
        " ORDER BY created_at, id"
    )
    assert [row["notification_id"] for row in told] == [
        parse_public_id("ntf", one) for one in accepted
    ]


def park(notification_id: str) -> None:
    """Let it wait for a person, as after an unknown outcome."""
    query(
        "WITH parked AS (UPDATE delivery SET status = 'parked', reason = 'unrenderable'"
        "  WHERE id = %s RETURNING *), listed AS ("
        " INSERT INTO dead_letter (delivery_id, notification_id, tenant_id, channel,"
        "   status, reason, code, attempt_count)"
        " SELECT id, notification_id, tenant_id, channel, status, reason, '', 0"
        "   FROM parked), told AS ("
        " INSERT INTO audit_event (id, tenant_id, kind, actor, notification_id,"
        "   delivery_id, reason, detail)"
        " SELECT uuidv7(), tenant_id, 'delivery.parked', 'test', notification_id, id,"
        "   reason, '{}' FROM parked)"
        " UPDATE outbox SET due_at = '9999-12-31' WHERE delivery_id = %s RETURNING 1",
        *ids(notification_id),
        *ids(notification_id),
    )
