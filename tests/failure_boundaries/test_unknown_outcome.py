"""The provider may have taken the message, and does not say so (O-REL-2)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.acme import deliveries, events, provider_settings
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


def test_silence_after_the_request_is_unknown_and_a_paid_sms_parks(
    api, consume, routed
):
    routed(sms="http")
    with HttpStub() as stub, provider_settings(http=http(stub.url, timeout=4.0)):
        stub.always(Hang())
        notification_id = api.accept(channels=["sms"])
        consume()

        assert len(stub.calls) == 1
    (delivery,) = deliveries(notification_id)
    assert delivery["status"] in {"parked", "pending"}
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
