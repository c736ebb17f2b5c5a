"""O-TIM-1: what is accepted for quiet hours waits for their end, and says so."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from tenants.models import Tenant
from tests.acme import Api, events
from tests.database_clock import Clock
from tests.factories.tenants import api_key, authorization
from tests.kafka import Running, is_all_finished, wait_until
from tests.sleepers import (
    AT_NIGHT,
    AT_TEN,
    CODE,
    HOUR,
    HOURS,
    IN_THE_MORNING,
    MINUTE,
    SALE,
    SECOND,
    calls,
    choose,
    due_at,
    register,
    snoozed,
    standing,
)

ALLOWED = {"decision": "allow", "until": None, "reason": "", "rule": ""}
DEFERRED = {
    "decision": "defer",
    "until": "2026-08-20T01:00:00+00:00",
    "reason": "quiet_hours",
    "rule": "quiet_hours",
}


def decision(answer: Any) -> dict[str, Any]:
    """Return what was decided for the only channel."""
    assert answer.status_code == 202, answer.content
    (decided,) = answer.json()["decisions"]
    for name in ("channel", "preference_version", "time_zone", "at"):
        decided.pop(name)
    known: dict[str, Any] = decided
    return known


def channel(api: Api, notification_id: str) -> dict[str, Any]:
    """Return the only delivery as the API tells of it."""
    (known,) = api.standing(notification_id)["channels"]
    told: dict[str, Any] = known
    return told


@pytest.mark.parametrize(
    ("at", "message"),
    [(AT_TEN - SECOND, SALE), (IN_THE_MORNING, SALE), (AT_NIGHT, CODE)],
    ids=["14:59:59Z", "01:00:00Z", "a code at 17:30:00Z"],
)
def test_outside_of_quiet_hours_it_is_sent_at_once_and_a_code_always(
    sleeper: Api, running: Running, clock: Clock, at: datetime, message: Any
) -> None:
    """O-TIM-1"""
    clock.stop_at(at)
    answer = sleeper.submit(**message)
    assert decision(answer) == ALLOWED

    with running():
        wait_until(is_all_finished)

    assert calls(answer.json()["notification_id"]) == [at]


@pytest.mark.parametrize("at", [AT_TEN, AT_NIGHT], ids=["15:00:00Z", "17:30:00Z"])
def test_inside_of_them_it_waits_until_the_same_morning(
    sleeper: Api, running: Running, clock: Clock, at: datetime
) -> None:
    """O-TIM-1"""
    clock.stop_at(at)
    answer = sleeper.submit(**SALE)
    waits = answer.json()["notification_id"]
    assert decision(answer) == DEFERRED
    assert due_at(waits) == IN_THE_MORNING

    clock.stop_at(IN_THE_MORNING - SECOND)
    with running():
        code = sleeper.accept(**{**CODE, "idempotency_key": "code"})
        wait_until(lambda: standing(code) == ("sent", ""))
    assert (standing(waits), calls(waits)) == (("pending", "quiet_hours"), [])
    clock.stop_at(IN_THE_MORNING)
    with running():
        wait_until(is_all_finished)

    assert calls(waits) == [IN_THE_MORNING]
    assert events(waits) == [
        "notification.accepted",
        "delivery.snoozed",
        "delivery.sent",
    ]


def test_what_it_waits_for_is_shown_and_written_down(
    sleeper: Api, clock: Clock
) -> None:
    clock.stop_at(AT_NIGHT)

    waits = sleeper.accept(**SALE)

    known = channel(sleeper, waits)
    assert (known["status"], known["waiting_for"]) == ("pending", "quiet_hours")
    assert known["reason"] == "quiet_hours"
    assert datetime.fromisoformat(known["next_attempt_at"]) == IN_THE_MORNING
    assert sleeper.standing(waits)["status"] == "accepted"
    assert snoozed(waits) == [("service", "quiet_hours", DEFERRED["until"])]
    clock.stop_at(IN_THE_MORNING)
    assert channel(sleeper, waits)["waiting_for"] == "worker"


@pytest.mark.parametrize(
    ("send_at", "due", "decided"),
    [
        (AT_NIGHT, IN_THE_MORNING, DEFERRED),
        (IN_THE_MORNING - SECOND, IN_THE_MORNING, DEFERRED),
        (IN_THE_MORNING + HOUR, IN_THE_MORNING + HOUR, ALLOWED),
        (AT_TEN - SECOND, AT_TEN - SECOND, ALLOWED),
    ],
)
def test_a_scheduled_one_is_judged_by_the_hour_it_is_scheduled_for(
    sleeper: Api, send_at: datetime, due: datetime, decided: dict[str, Any]
) -> None:
    answer = sleeper.submit(**SALE, send_at=send_at.isoformat())

    waits = answer.json()["notification_id"]
    assert decision(answer) == decided
    assert due_at(waits) == due
    assert channel(sleeper, waits)["waiting_for"] == "schedule"
    assert sleeper.standing(waits)["status"] == "scheduled"


def test_a_scheduled_one_waits_for_its_date_and_then_for_the_morning(
    sleeper: Api, clock: Clock
) -> None:
    waits = sleeper.accept(**SALE, send_at=AT_NIGHT.isoformat())

    clock.stop_at(AT_NIGHT)

    assert channel(sleeper, waits)["waiting_for"] == "quiet_hours"


def test_a_send_at_of_a_moment_ago_is_judged_by_now(sleeper: Api, clock: Clock) -> None:
    clock.stop_at(AT_TEN + MINUTE)

    answer = sleeper.submit(**SALE, send_at=(AT_TEN - MINUTE).isoformat())

    assert decision(answer) == DEFERRED


@pytest.mark.parametrize(
    ("message", "decided"),
    [
        ({"channels": ["email"], "template": {"name": "invoice_due"}}, "defer"),
        (
            {
                "channels": ["email"],
                "template": {"name": "invoice_due"},
                "priority": "high",
            },
            "allow",
        ),
        ({**SALE, "priority": "high"}, "defer"),
        ({**SALE, "channels": ["in_app"]}, "allow"),
    ],
    ids=["an invoice", "an alert", "an urgent advertisement", "in the inbox"],
)
def test_alerts_and_the_inbox_do_not_wait_and_advertisements_always_do(
    sleeper: Api, clock: Clock, message: dict[str, Any], decided: str
) -> None:
    clock.stop_at(AT_NIGHT)
    recipient = {**SALE["recipient"], "email": "accept@simulate.example"}

    answer = sleeper.submit(**{**message, "recipient": recipient})

    assert decision(answer)["decision"] == decided


def test_the_channels_of_one_notification_are_decided_each_for_itself(
    sleeper: Api, clock: Clock, consume: Any
) -> None:
    clock.stop_at(AT_NIGHT)

    answer = sleeper.submit(**{**SALE, "channels": ["email", "push", "in_app"]})
    consume()

    assert {
        known["channel"]: (known["decision"], known["reason"])
        for known in answer.json()["decisions"]
    } == {
        "email": ("suppress", "no_address"),
        "push": ("defer", "quiet_hours"),
        "in_app": ("allow", ""),
    }
    told = sleeper.standing(answer.json()["notification_id"])
    assert {known["channel"]: known["status"] for known in told["channels"]} == {
        "email": "suppressed",
        "push": "pending",
        "in_app": "sent",
    }


@pytest.mark.parametrize(
    ("named", "own", "until"),
    [
        ("Europe/London", "America/New_York", "2026-08-20T07:00:00+00:00"),
        (None, "America/New_York", None),  # half past one, in the afternoon
        (None, None, "2026-08-20T01:00:00+00:00"),  # the tenant's
    ],
    ids=["named with the hours", "the person's", "the tenant's"],
)
def test_the_zone_is_that_of_the_hours_else_the_persons_else_the_tenants(
    awake: Api, clock: Clock, named: str | None, own: str | None, until: str | None
) -> None:
    register(awake, zone=own, user_id="usr_302")
    choose(awake, {**HOURS, "time_zone": named}, user_id="usr_302")
    clock.stop_at(AT_NIGHT + 5 * HOUR)  # past eleven at night in London

    answer = awake.submit(**{**SALE, "recipient": {"user_id": "usr_302"}})

    assert decision(answer)["until"] == until


def test_a_person_whom_nobody_told_us_about_has_the_tenants_zone(
    awake: Api, clock: Clock
) -> None:
    choose(awake, HOURS, user_id="usr_303")
    clock.stop_at(AT_NIGHT)
    recipient = {"user_id": "usr_303", "email": "accept@simulate.example"}

    answer = awake.submit(**{**SALE, "recipient": recipient, "channels": ["email"]})

    assert decision(answer) == DEFERRED


def test_a_repeated_command_is_answered_as_at_first(
    sleeper: Api, clock: Clock, consume: Any
) -> None:
    clock.stop_at(AT_NIGHT)
    first = sleeper.submit(**SALE)
    clock.stop_at(IN_THE_MORNING)
    consume()

    second = sleeper.submit(**SALE)

    assert second.json() == first.json()
    assert len(calls(first.json()["notification_id"])) == 1


def test_a_deferred_one_can_be_cancelled(
    sleeper: Api, clock: Clock, consume: Any
) -> None:
    clock.stop_at(AT_NIGHT)
    waits = sleeper.accept(**SALE)

    answer = sleeper.cancel(waits)
    clock.stop_at(IN_THE_MORNING)
    consume()

    assert [known["result"] for known in answer.json()["channels"]] == ["cancelled"]
    assert calls(waits) == []


def test_a_test_key_waits_like_a_live_one(
    sleeper: Api, acme: Tenant, clock: Clock
) -> None:
    clock.stop_at(AT_NIGHT)
    testing = Api(Client(), authorization(api_key(acme, is_test=True)))

    assert decision(testing.submit(**SALE)) == DEFERRED


def test_what_expires_in_quiet_hours_expires_then_and_says_why(
    sleeper: Api, clock: Clock, consume: Any
) -> None:
    clock.stop_at(AT_NIGHT)
    expires_at = AT_NIGHT + timedelta(hours=2)
    answer = sleeper.submit(**SALE, expires_at=expires_at.isoformat())
    lost = answer.json()["notification_id"]
    assert decision(answer) == DEFERRED
    assert due_at(lost) == expires_at

    clock.stop_at(expires_at)
    consume()

    assert standing(lost) == ("expired", "expired_in_quiet_hours")
    assert calls(lost) == []
    assert sleeper.standing(lost)["status"] == "expired"


def test_quiet_hours_that_are_switched_off_leave_the_deferred_where_it_is(
    sleeper: Api, clock: Clock, consume: Any
) -> None:
    clock.stop_at(AT_NIGHT)
    waits = sleeper.accept(**SALE)

    choose(sleeper, None)
    consume()

    assert (due_at(waits), calls(waits)) == (IN_THE_MORNING, [])
    at_once = sleeper.submit(**{**SALE, "idempotency_key": "after"})
    assert decision(at_once) == ALLOWED


def test_hours_that_end_when_they_begin_are_refused(awake: Api) -> None:
    """O-TIM-1"""
    answer = awake.put(
        "/v1/users/usr_301/notification-preferences",
        {"opt_outs": [], "quiet_hours": {"start": "22:00", "end": "22:00"}},
        **{"If-Match": '"0"'},
    )

    assert answer.status_code == 422
