"""The provider may have taken the message, and does not say so (O-REL-2)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.acme import deliveries, events, provider_settings, query
from tests.stubs.http import HttpStub
from tests.stubs.server import Close, Hang
from tests.stubs.smtp import SmtpStub

RECONCILED = timedelta(minutes=5, seconds=1)


def smtp(stub: SmtpStub) -> dict[str, object]:
    return {
        "BACKEND": "providers.email.smtp.SmtpAdapter",
        "OPTIONS": {
            "url": f"smtp://127.0.0.1:{stub.port}?tls=none",
            "sender": "no-reply@acme.example",
        },
        "TIMEOUT": 3.0,
    }


def http(url: str, *, timeout: float = 3.0) -> dict[str, object]:
    return {
        "BACKEND": "providers.http.HttpAdapter",
        "OPTIONS": {"url": url, "token": "secret"},
        "TIMEOUT": timeout,
    }


@pytest.fixture
def routed(settings):
    def route(**aliases: str) -> None:
        settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, **aliases}

    return route


def test_a_connection_lost_behind_the_final_dot_is_unknown_and_retried_as_the_same(
    api, consume, clock, routed
):
    routed(email="smtp")
    with SmtpStub() as stub, provider_settings(smtp=smtp(stub)):
        stub.queue("dot", Close())
        notification_id = api.accept()
        consume()
        (delivery,) = deliveries(notification_id)
        assert delivery["status"] == "pending"
        assert delivery["reason"] == "reconciling"
        assert delivery["maybe_sent"]

        clock.advance(RECONCILED)
        consume()

        first, second = stub.received
        assert first.parsed["Message-ID"] == second.parsed["Message-ID"]
    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["attempt_count"]) == ("sent", 2)
    assert events(notification_id)[1:] == [
        "delivery.retried",
        "delivery.snoozed",
        "delivery.sent",
    ]


def test_a_second_unknown_parks_and_is_never_called_failed(api, consume, clock, routed):
    routed(email="smtp")
    with SmtpStub() as stub, provider_settings(smtp=smtp(stub)):
        stub.always("dot", Close())
        notification_id = api.accept()
        for _ in range(4):
            consume()
            clock.advance(RECONCILED)

        assert len(stub.received) == 2
    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("parked", "outcome_unknown")


@pytest.mark.parametrize(("policy", "calls"), [("park", 1), ("retry", 2)])
def test_an_account_may_have_a_policy_of_its_own(api, consume, routed, policy, calls):
    routed(email="smtp")
    with SmtpStub() as stub:
        entry = {**smtp(stub), "UNKNOWN": {"transactional": policy}}
        with provider_settings(smtp=entry):
            stub.always("dot", Close())
            notification_id = api.accept()
            consume()

        assert len(stub.received) == calls
    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("parked", "outcome_unknown")


@pytest.mark.parametrize(("policy", "status"), [("park", "parked"), ("retry", "sent")])
def test_a_take_over_obeys_the_policy_of_the_account(api, consume, policy, status):
    notification_id = api.accept()
    # As a worker leaves it that claims it and vanishes.
    query("UPDATE delivery SET status = 'sending', claim_count = 1 RETURNING 1")
    query("UPDATE outbox SET claim_count = 1, due_at = app_now() RETURNING 1")
    forgetful = {
        "BACKEND": "providers.sandbox.ForgetfulSandboxAdapter",
        "UNKNOWN": {"transactional": policy},
    }

    with provider_settings(sandbox=forgetful):
        consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["maybe_sent"]) == (status, True)
    assert events(notification_id)[1] == "delivery.attempt_lost"


def test_silence_after_the_request_is_unknown_and_safe_to_repeat_within_the_window(
    api, consume, routed
):
    routed(sms="http")
    with HttpStub() as stub, provider_settings(http=http(stub.url, timeout=4.0)):
        stub.always(Hang())
        notification_id = api.accept(channels=["sms"])
        consume()

        assert len(stub.calls) == 1
    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("pending", "outcome_unknown")
    assert delivery["maybe_sent"]


def test_a_refused_connection_is_plainly_transient(api, consume, routed):
    routed(sms="http")
    with HttpStub() as stub:
        url = stub.url
    with provider_settings(http=http(url)):
        notification_id = api.accept(channels=["sms"])
        consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("pending", "transient_error")
    assert not delivery["maybe_sent"]


def test_a_time_out_after_acceptance_cannot_be_cancelled_as_if_nothing_had_happened(
    api, consume
):
    """Bad input 24, B13"""
    notification_id = api.accept(
        recipient={"user_id": "usr_x", "email": "timeout+1@simulate.example"}
    )
    consume()

    answer = api.cancel(notification_id)

    assert answer.status_code == 200
    (channel,) = answer.json()["channels"]
    assert channel["result"] == "stopped_outcome_unknown"
