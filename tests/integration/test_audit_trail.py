"""The trail: one event for every arrow, told by whom, and nobody takes it back."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import transaction
from django.test import Client

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from audit.timeline import timeline
from foundation.database_clock import database_now
from foundation.ids import parse_public_id
from foundation.statements import server_cursor
from notifications.replay import replay
from tests.acme import Api, deliveries, events, query
from tests.factories.tenants import api_key, authorization

BACK_OFF = timedelta(minutes=15)


def trail(notification_id: str) -> list[dict[str, Any]]:
    rows = query(
        "SELECT * FROM audit_event WHERE notification_id = %s ORDER BY created_at, id",
        parse_public_id("ntf", notification_id),
    )
    return [row | {"detail": json.loads(row["detail"])} for row in rows]


def accept_for(api: Api, behaviour: str, **changes: Any) -> str:
    person = {"user_id": "usr_x", "email": f"{behaviour}@simulate.example"}
    return api.accept(idempotency_key=behaviour, recipient=person, **changes)


def test_acceptance_says_who_what_and_what_was_held_back(api, acme):
    notification_id = api.accept(
        recipient={"user_id": "nobody", "email": "x@example.com"},
        channels=["email", "sms"],
    )

    accepted, held = trail(notification_id)
    assert accepted["kind"] == "notification.accepted"
    assert accepted["actor"] == "service:billing"
    decisions = accepted["detail"].pop("decisions")
    assert [each["decision"] for each in decisions] == ["allow", "suppress"]
    assert accepted["detail"] == {
        "template": "invoice_due",
        "version": 1,
        "channels": ["email", "sms"],
    }
    assert (held["kind"], held["reason"]) == ("delivery.suppressed", "no_address")
    assert held["delivery_id"] == deliveries(notification_id)[1]["id"]
    assert {event["tenant_id"] for event in (accepted, held)} == {acme.pk}


def test_every_attempt_has_its_event_with_the_providers_word(api, consume, clock):
    notification_id = accept_for(api, "transient+2")
    for _ in range(3):
        consume()
        clock.advance(BACK_OFF)

    told = trail(notification_id)[1:]
    kinds = ["delivery.retried", "delivery.retried", "delivery.sent"]
    assert [event["kind"] for event in told] == kinds
    assert [event["detail"]["attempt"] for event in told] == [1, 2, 3]
    assert {event["actor"] for event in told} == {"worker"}
    for event in told[:2]:
        detail = event["detail"]
        assert event["reason"] == "transient_error"
        assert (detail["provider"], detail["channel"]) == ("sandbox", "email")
        assert detail["outcome"] == "transient_error"
        assert detail["code"] == "sandbox_transient"
        assert 0 <= detail["retry_in_seconds"] <= BACK_OFF.total_seconds()
    assert told[2]["detail"]["provider_message_id"].startswith("sbx_")


@pytest.mark.parametrize(
    ("behaviour", "kind", "outcome"),
    [
        ("rate-limited+0", "delivery.snoozed", "rate_limited"),
        ("permanent", "delivery.failed", "rejected"),
        ("account-fault", "delivery.parked", "permanent_error"),
        ("timeout+0", "delivery.retried", "unknown"),
    ],
)
def test_every_outcome_is_told(api, consume, behaviour, kind, outcome):
    notification_id = accept_for(api, behaviour)
    consume()

    last = trail(notification_id)[-1]
    assert (last["kind"], last["detail"]["outcome"]) == (kind, outcome)


def test_what_people_and_services_did_is_told_with_their_name(
    api, acme, consume, clock
):
    parked = accept_for(api, "account-fault")
    consume()
    delivery_id = deliveries(parked)[0]["id"]
    replay([delivery_id], tenant_ids=[acme.pk], actor="staff:an")
    support = Api(Client(), authorization(api_key(acme, service="support")))
    support.cancel(parked)
    support.cancel(parked)

    told = [(event["kind"], event["actor"]) for event in trail(parked)]
    assert told == [
        ("notification.accepted", "service:billing"),
        ("delivery.parked", "worker"),
        ("delivery.replayed", "staff:an"),
        ("notification.cancel_asked", "service:support"),
        ("delivery.cancelled", "service:support"),
        ("notification.cancel_asked", "service:support"),
    ]


def test_a_cancellation_that_came_too_late_is_told_too(api, consume):
    notification_id = api.accept()
    consume()
    assert api.cancel(notification_id).status_code == 409

    assert events(notification_id)[-1] == "notification.cancel_asked"
    assert trail(notification_id)[-1]["detail"] == {"email": "too_late"}


def test_what_was_refused_or_repeated_is_not_told(api):
    api.accept()
    before = query("SELECT count(*) AS n FROM audit_event")

    api.accept()
    api.submit(idempotency_key="other", channels=[])
    api.submit(priority="low")

    assert query("SELECT count(*) AS n FROM audit_event") == before


def test_an_event_stands_or_falls_with_what_it_tells(committed):
    event = AuditRecord(kind=EventKind.DELIVERY_SENT, tenant_id=1, actor="test")
    with transaction.atomic(), server_cursor() as cursor:
        record_events(cursor, [event])
        transaction.set_rollback(True)

    assert query("SELECT 1 FROM audit_event") == []


def test_the_timeline_is_told_in_order_and_to_its_tenant_alone(api, acme, consume):
    notification_id = api.accept(channels=["email", "sms"])
    consume()
    identifier = parse_public_id("ntf", notification_id)

    told = timeline(tenant_id=acme.pk, notification_id=identifier)

    assert [event.kind for event in told] == events(notification_id)
    assert not timeline(tenant_id=acme.pk + 1, notification_id=identifier)


def test_not_even_the_owner_changes_the_trail_by_accident(api, owner):
    """I12: the trigger stands where no grant does."""
    api.accept()
    leaf = f"audit_event_p{database_now():%Y_%m}"
    before = query("SELECT * FROM audit_event ORDER BY id")
    for statement in (
        "UPDATE audit_event SET reason = 'x'",
        "DELETE FROM audit_event",
        "TRUNCATE audit_event",
        f"UPDATE {leaf} SET reason = 'x'",
        f"DELETE FROM {leaf}",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
            owner.execute(statement)

    assert query("SELECT * FROM audit_event ORDER BY id") == before
