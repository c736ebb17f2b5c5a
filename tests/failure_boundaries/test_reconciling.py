"""An outcome that nobody knows is looked up before anything is sent again."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import transaction

from foundation.statements import server_cursor
from notifications.dispatch.settling import Settlement, settle
from notifications.retry_policy import FOUND_SENT
from notifications.transitions import Fence
from providers.base import Finding, Found
from providers.channels import Channel
from tenants.categories import Priority
from tests.acme import deliveries, events, provider_settings, query
from tests.stubs.server import Close
from tests.stubs.twilio import ACCOUNT_SID, TwilioStub, refused

DATES = [timedelta(seconds=each) for each in (5, 30, 120, 300)]
MOMENT = timedelta(milliseconds=500)


@pytest.fixture
def stub():
    with TwilioStub() as started:
        yield started


@pytest.fixture
def twilio(stub, settings):
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "sms": "twilio"}
    options = {
        "account_sid": ACCOUNT_SID,
        "auth_token": "secret",
        "sender": "+15005550006",
        "url": stub.origin,
    }
    entry = {"BACKEND": "providers.sms.twilio.TwilioAdapter", "OPTIONS": options}
    with provider_settings(twilio=entry):
        yield entry


@pytest.fixture
def doubtful(api, consume, stub, twilio):
    """Send a text message whose answer is lost; `created` says if Twilio has it."""

    def submit(*, created: bool, **changes):
        stub.decide = stub.create_and(Close()) if created else stub.decide
        if not created:
            stub.queue(Close())
        notification_id = api.accept(channels=["sms"], **changes)
        consume()
        (delivery,) = deliveries(notification_id)
        assert (delivery["status"], delivery["reason"]) == ("pending", "reconciling")
        assert delivery["maybe_sent"]
        return notification_id

    return submit


def pass_dates(clock, consume, count):
    passed = timedelta(0)
    for each in DATES[:count]:
        clock.advance(each - passed + MOMENT / count)
        passed = each
        consume()


def test_what_is_found_is_sent_and_not_sent_again(doubtful, api, consume, clock, stub):
    notification_id = doubtful(created=True)

    pass_dates(clock, consume, 1)

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("sent", "found_by_look_up")
    assert delivery["provider_message_id"] == stub.created[0]["sid"]
    assert (delivery["attempt_count"], delivery["maybe_sent"]) == (1, True)
    assert (len(stub.sent), len(stub.look_ups)) == (1, 1)
    timeline = ["delivery.retried", "delivery.looked_up", "delivery.sent"]
    assert events(notification_id)[1:] == timeline
    (told,) = query("SELECT * FROM audit_event WHERE kind = 'delivery.looked_up'")
    detail = json.loads(told["detail"])
    assert detail["finding"] == "found"
    assert detail["provider_message_id"] == delivery["provider_message_id"]


def test_what_is_conclusively_not_found_is_sent_again(doubtful, consume, clock, stub):
    """Sooner than Twilio surely lists it, not to find it proves nothing."""
    notification_id = doubtful(created=False)

    pass_dates(clock, consume, 2)
    assert len(stub.sent) == 1
    clock.advance(DATES[2] - DATES[1])
    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["attempt_count"]) == ("sent", 2)
    assert (len(stub.sent), len(stub.look_ups)) == (2, 3)
    first, second = (call.form for call in stub.sent)
    assert first == second


def test_what_nobody_can_tell_parks_after_the_last_look_up(
    doubtful, api, consume, clock, stub
):
    notification_id = doubtful(created=True)
    stub.always(refused(500, 20500), stage="list")
    begun = deliveries(notification_id)[0]["updated_at"]

    passed = timedelta(0)
    for number, each in enumerate(DATES):
        (row,) = query("SELECT due_at FROM outbox")
        assert abs(row["due_at"] - begun - each) < MOMENT
        clock.advance(row["due_at"] - clock.now() + timedelta(milliseconds=1))
        consume()
        passed = each
        assert len(stub.look_ups) == number + 1

    assert passed == DATES[-1]
    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("parked", "outcome_unknown")
    assert (delivery["attempt_count"], len(stub.sent)) == (1, 1)
    looked_up = ["delivery.looked_up"] * 4
    told = ["delivery.retried", *looked_up, "delivery.parked"]
    assert events(notification_id)[1:] == told


def test_a_second_unknown_is_looked_up_too(doubtful, consume, clock, stub):
    notification_id = doubtful(created=False)
    stub.decide = stub.create_and(Close())
    pass_dates(clock, consume, 3)
    (delivery,) = deliveries(notification_id)
    assert (delivery["reason"], delivery["attempt_count"]) == ("reconciling", 2)

    clock.advance(DATES[0] + MOMENT)
    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], len(stub.sent)) == ("sent", 2)


def test_cancelling_meanwhile_stops_it_and_says_that_the_outcome_is_unknown(
    doubtful, api, consume, clock, stub
):
    notification_id = doubtful(created=True)

    answer = api.cancel(notification_id)
    pass_dates(clock, consume, 4)

    (channel,) = answer.json()["channels"]
    assert channel["result"] == "stopped_outcome_unknown"
    assert deliveries(notification_id)[0]["status"] == "cancelled"
    assert stub.look_ups == []


def test_what_expires_meanwhile_ends_as_expired_and_maybe_sent(
    doubtful, consume, clock, stub
):
    expires_at = (clock.now() + timedelta(seconds=60)).isoformat()
    notification_id = doubtful(created=False, expires_at=expires_at)

    pass_dates(clock, consume, 2)
    (row,) = query("SELECT due_at FROM outbox")
    (delivery,) = deliveries(notification_id)
    assert row["due_at"] == delivery["expires_at"]
    clock.advance(DATES[2] - DATES[1])
    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["maybe_sent"]) == ("expired", True)
    assert (len(stub.sent), len(stub.look_ups)) == (1, 2)


def test_an_opt_out_meanwhile_stops_no_look_up_but_a_second_message(
    doubtful, api, acme, consume, clock, stub
):
    notification_id = doubtful(created=False)
    preferences = "/v1/users/usr_an/notification-preferences"
    answer = api.put(
        preferences,
        {"opt_outs": ["sms"], "quiet_hours": None},
        **{"If-Match": api.get(preferences)["ETag"]},
    )
    assert answer.status_code == 200, answer.content

    pass_dates(clock, consume, 3)

    assert deliveries(notification_id)[0]["status"] == "suppressed"
    assert (len(stub.sent), len(stub.look_ups)) == (1, 3)


def test_a_lost_look_up_counts_no_attempt_and_is_made_again(
    doubtful, consume, clock, stub
):
    notification_id = doubtful(created=True)
    # As a worker leaves it that claims it and vanishes.
    query(
        "UPDATE delivery SET status = 'sending', claim_count = claim_count + 1"
        " RETURNING 1"
    )
    query(
        "UPDATE outbox SET claim_count = claim_count + 1, due_at = app_now()"
        " RETURNING 1"
    )

    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["attempt_count"]) == ("sent", 1)
    told = ["delivery.retried", *["delivery.looked_up"] * 2, "delivery.sent"]
    assert events(notification_id)[1:] == told


def test_the_answer_of_a_look_up_that_was_taken_over_changes_nothing(doubtful):
    notification_id = doubtful(created=True)
    before = deliveries(notification_id)
    (delivery,) = before
    late = Settlement(
        fence=Fence(delivery["id"], delivery["claim_count"] - 1),
        notification_id=delivery["notification_id"],
        tenant_id=delivery["tenant_id"],
        channel=Channel.SMS,
        priority=Priority.NORMAL,
        attempt=1,
        step=FOUND_SENT,
        found=Found(finding=Finding.FOUND, provider_message_id="SM1"),
    )

    with transaction.atomic(), server_cursor() as cursor:
        settle(cursor, [late])

    assert deliveries(notification_id) == before
    assert events(notification_id)[1:] == ["delivery.retried", "delivery.late_answer"]


def test_a_faulty_account_is_asked_all_the_same(doubtful, consume, clock, stub):
    """Parked for the account's repair, it would be sent again once that is done."""
    notification_id = doubtful(created=True)
    query(
        "INSERT INTO account_fault (provider, code, next_probe_at) VALUES"
        " ('twilio', '20003', app_now() + interval '1 day') RETURNING 1"
    )

    pass_dates(clock, consume, 1)

    assert deliveries(notification_id)[0]["status"] == "sent"


def test_a_route_that_leads_elsewhere_by_now_does_not_change_who_is_asked(
    doubtful, consume, clock, stub, settings
):
    notification_id = doubtful(created=True)
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "sms": "sandbox"}

    pass_dates(clock, consume, 1)

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["provider"]) == ("sent", "twilio")


def test_a_look_up_waits_for_nobody_of_its_order_key(
    doubtful, api, consume, clock, settings
):
    """One with an older rank came back while the outcome was unknown, as a replay
    brings it."""
    settings.ORDERED_CATEGORIES = ["transactional"]
    younger = doubtful(created=True, idempotency_key="younger")
    clock.advance(timedelta(seconds=6))
    older = api.accept(idempotency_key="older", channels=["sms"])
    query(
        "UPDATE outbox SET order_at = order_at - interval '1 hour', due_at = app_now()"
        " WHERE delivery_id = %s RETURNING 1",
        deliveries(older)[0]["id"],
    )

    consume()

    (delivery,) = deliveries(younger)
    assert (delivery["status"], delivery["reason"]) == ("sent", "found_by_look_up")
    assert deliveries(older)[0]["status"] == "pending"
