"""An account that refuses us rests, its messages wait, and both go on once mended."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from notifications.replay import resume_mended_accounts
from providers.account_faults import FIRST_PROBE
from tests.acme import deliveries, events, provider_settings, query
from tests.stubs.http import Answer, HttpStub

REFUSED = Answer(401, {"error": "wrong token"})
WRONG = "+84909999999"


@pytest.fixture
def provider(settings):
    """Send text messages by an account of its own, on a stub."""
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "sms": "acme"}
    with HttpStub() as stub:
        entry = {"BACKEND": "providers.http.HttpAdapter", "OPTIONS": {"url": stub.url}}
        with provider_settings(acme=entry):
            yield stub


def accept(api, **fields):
    return api.accept(
        recipient={"user_id": "usr_x", "phone": "+84901234567"},
        channels=["sms"],
        idempotency_key=uuid4().hex,
        **fields,
    )


def status(notification_id):
    (delivery,) = deliveries(notification_id)
    return delivery["status"], delivery["reason"], delivery["attempt_count"]


PARKED = ("parked", "account_fault", 0)


def test_one_refusal_parks_what_comes_after_it_without_a_call(api, consume, provider):
    provider.always(REFUSED)
    first = accept(api)
    consume()
    others = [accept(api) for _ in range(3)]

    consume()

    assert [status(each) for each in (first, *others)] == [PARKED] * 4
    assert len(provider.calls) == 1
    (fault,) = query("SELECT provider, code, mended_at FROM account_fault")
    assert fault == {"provider": "acme", "code": "http_401", "mended_at": None}
    assert {row["provider"] for row in query("SELECT provider FROM dead_letter")} == {
        "acme"
    }


def test_one_message_at_a_time_probes_less_and_less_often(
    api, consume, provider, clock
):
    provider.always(REFUSED)
    accept(api)
    consume()

    made = []
    for wait in (FIRST_PROBE, FIRST_PROBE, FIRST_PROBE, 2 * FIRST_PROBE):
        clock.advance(wait)
        for _ in range(2):
            accept(api)
        consume()
        made.append(len(provider.calls))

    # The first is due after 5 s, the second 10 s later, the third 20 s later.
    assert made == [2, 2, 3, 3]


def test_the_first_message_that_is_taken_mends_it_and_all_that_waited_go_on(
    api, consume, provider, clock
):
    provider.always(REFUSED)
    waiting = [accept(api)]
    consume()
    waiting += [accept(api) for _ in range(3)]
    consume()
    provider.always(Answer(202, {"id": "m"}))
    clock.advance(FIRST_PROBE)
    probe = accept(api)

    consume()
    assert status(probe) == ("sent", "", 1)
    assert resume_mended_accounts() == 4
    consume()

    assert [status(each)[0] for each in waiting] == ["sent"] * 4
    assert events(waiting[1]).count("delivery.replayed") == 1
    assert query("SELECT * FROM dead_letter") == []
    assert len(provider.calls) == 6


def test_what_parks_while_it_is_being_mended_goes_on_too(api, consume, provider, clock):
    """A claim may have read of the fault just before it was mended."""
    provider.always(REFUSED)
    accept(api)
    consume()
    provider.always(Answer(202, {"id": "m"}))
    clock.advance(FIRST_PROBE)
    accept(api)
    consume()
    assert resume_mended_accounts() == 1
    straggler = accept(api)
    (delivery,) = deliveries(straggler)
    query(
        "UPDATE delivery SET status = 'parked', reason = 'account_fault',"
        " provider = 'acme' WHERE id = %s RETURNING id",
        delivery["id"],
    )
    query(
        "INSERT INTO dead_letter (delivery_id, notification_id, tenant_id, channel,"
        " provider, status, reason, code, attempt_count) SELECT id, notification_id,"
        " tenant_id, channel, provider, status, reason, '', 0 FROM delivery"
        " WHERE id = %s"
        " RETURNING delivery_id",
        delivery["id"],
    )

    assert resume_mended_accounts() == 1
    consume()

    assert status(straggler) == ("sent", "", 1)


def test_a_mended_fault_is_forgotten_after_a_while(api, consume, provider, clock):
    provider.queue(REFUSED)
    accept(api)
    consume()
    clock.advance(FIRST_PROBE)
    accept(api)
    consume()
    clock.advance(timedelta(minutes=6))

    resume_mended_accounts()

    assert query("SELECT * FROM account_fault") == []


def test_a_refusal_among_messages_that_were_taken_stops_nobody_else(
    api, consume, provider
):
    """A code that a provider gives to a single message must not stop the account."""
    provider.queue(REFUSED)
    both = [accept(api), accept(api)]

    consume()

    assert sorted(status(each)[0] for each in both) == ["parked", "sent"]
    assert query("SELECT * FROM account_fault") == []


def test_what_waits_for_an_account_expires_in_its_time(api, consume, provider, clock):
    provider.always(REFUSED)
    accept(api)
    consume()
    expires_at = (clock.now() + timedelta(minutes=1)).isoformat()
    brief = accept(api, expires_at=expires_at)
    consume()
    assert status(brief) == PARKED

    clock.advance(timedelta(minutes=1, seconds=1))
    consume()

    assert status(brief)[:2] == ("expired", "expired")


def test_other_accounts_do_not_notice(api, consume, provider):
    provider.always(REFUSED)
    accept(api)
    consume()

    mail = api.accept(channels=["email"], idempotency_key=uuid4().hex)
    consume()

    assert status(mail) == ("sent", "", 1)


def test_a_message_that_alone_is_refused_stops_the_account_once_and_not_for_ever(
    api, consume, provider, clock
):
    """A sender that is wrong for one country only: a person has to look at it."""
    provider.decide = lambda call: REFUSED if call.json["to"] == WRONG else None
    bad = api.accept(
        recipient={"user_id": "usr_y", "phone": WRONG},
        channels=["sms"],
        idempotency_key=uuid4().hex,
    )
    consume()
    for _ in range(3):
        clock.advance(FIRST_PROBE)
        accept(api)
        consume()
        resume_mended_accounts()
        consume()

    assert status(bad)[:2] == ("parked", "account_refused")
    open_faults = query("SELECT * FROM account_fault WHERE mended_at IS NULL")
    assert open_faults == []
    assert resume_mended_accounts() == 0


def test_what_waits_is_sent_however_late_beat_comes(api, consume, provider, clock):
    provider.queue(REFUSED)
    waiting = accept(api)
    consume()
    clock.advance(FIRST_PROBE)
    accept(api)
    consume()
    clock.advance(timedelta(hours=1))

    assert resume_mended_accounts() == 1
    consume()

    assert status(waiting)[0] == "sent"


def test_a_probe_that_has_expired_leaves_it_to_the_next(api, consume, provider, clock):
    provider.queue(REFUSED)
    accept(api)
    consume()
    soon = (clock.now() + timedelta(seconds=30)).isoformat()
    late = accept(api, expires_at=soon)
    clock.advance(timedelta(seconds=31))
    consume()
    assert status(late)[0] == "expired"

    probe = accept(api)
    consume()

    assert status(probe)[0] == "sent"
