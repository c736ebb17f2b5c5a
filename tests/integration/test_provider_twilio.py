"""The Twilio adapter against a Messages resource on loopback."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from foundation.ids import public_id
from providers.base import Verdict
from providers.channels import Channel
from providers.sms.twilio import TwilioAdapter
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.http import Answer, CloseHalfway, HttpStub
from tests.stubs.server import Close, Raw
from tests.stubs.twilio import (
    ACCOUNT_SID,
    MESSAGING_SERVICE,
    TwilioStub,
    created,
    refused,
)

NUMBER = "+15005550006"
CALLBACK = "https://notify.acme.example/callbacks/twilio?account=main"


@pytest.fixture
def stub():
    with TwilioStub() as started:
        yield started


def sms(**fields):
    return OutboundMessageFactory.build(channel=Channel.SMS, **fields)


def send(stub, *messages, **options):
    async def in_turn():
        adapter = TwilioAdapter(
            **{
                "account_sid": ACCOUNT_SID,
                "auth_token": "secret",
                "sender": NUMBER,
                "url": stub.origin,
            }
            | options
        )
        try:
            return [await adapter.send(message) for message in messages]
        finally:
            await adapter.aclose()

    return asyncio.run(in_turn())


@pytest.mark.parametrize(
    ("sender", "parameter"),
    [(NUMBER, "From"), ("Acme", "From"), (MESSAGING_SERVICE, "MessagingServiceSid")],
)
def test_message_arrives_as_twilio_documents_it(stub, sender, parameter):
    text = "Xin chào & 100 % = 👍 +1"
    message = sms(
        parts={"text": text}, expires_at=datetime.now(tz=UTC) + timedelta(minutes=5)
    )

    (result,) = send(stub, message, sender=sender, callback_url=CALLBACK)

    form = stub.calls[0].form
    assert set(form) == {"To", "Body", parameter, "ValidityPeriod", "StatusCallback"}
    assert (form["To"], form["Body"]) == ("+84912345678", text)
    assert form[parameter] == sender
    assert result.outcome == "accepted"
    assert result.provider_message_id.startswith("SM")


@pytest.mark.parametrize(
    ("key_sid", "user"), [("", ACCOUNT_SID), ("SK" + "0" * 32, "SK" + "0" * 32)]
)
def test_credentials_are_those_of_the_account_or_its_key(stub, key_sid, user):
    send(stub, sms(), key_sid=key_sid)

    scheme, credentials = stub.calls[0].headers["authorization"].split(" ")
    assert (scheme, b64decode(credentials).decode()) == ("Basic", f"{user}:secret")


@pytest.mark.parametrize(
    ("lifetime", "seconds"),
    [
        (timedelta(minutes=5), range(290, 301)),
        (timedelta(days=2), [36_000]),
        (timedelta(milliseconds=300), [1]),
        (timedelta(seconds=-5), [1]),
    ],
)
def test_validity_stays_within_the_bounds_of_twilio(stub, lifetime, seconds):
    send(stub, sms(expires_at=datetime.now(tz=UTC) + lifetime))

    assert int(stub.calls[0].form["ValidityPeriod"]) in seconds


def test_message_without_an_end_or_a_callback_names_neither(stub):
    send(stub, sms())

    assert set(stub.calls[0].form) == {"To", "Body", "From"}


def test_delivery_id_travels_in_the_callback(stub):
    message = sms()

    send(stub, message, message, callback_url=CALLBACK)

    callbacks = [call.form["StatusCallback"] for call in stub.calls]
    assert callbacks[0] == callbacks[1]
    query = parse_qs(urlsplit(callbacks[0]).query)
    delivery = public_id("dlv", message.delivery_id)
    assert query == {"account": ["main"], "delivery": [delivery]}


def test_no_idempotency_is_claimed_and_nothing_repeated(stub):
    stub.always(Close())

    (result,) = send(stub, sms())

    assert TwilioAdapter.idempotency_window is None
    assert result == Verdict.UNKNOWN.result(code="lost_after_body")
    assert len(stub.calls) == 1


@pytest.mark.parametrize(
    ("status", "code", "verdict"),
    [
        (401, 20003, Verdict.ACCOUNT_FAULT),
        (404, 20404, Verdict.ACCOUNT_FAULT),
        (400, 21211, Verdict.DEAD_ADDRESS),
        (400, 21610, Verdict.OPTED_OUT),
        (400, 21617, Verdict.BAD_MESSAGE),
        (400, 21611, Verdict.RATE_LIMITED),
        (500, 20500, Verdict.UNKNOWN),
        (503, 20503, Verdict.UNKNOWN),
    ],
)
def test_error_is_told_by_its_code_and_by_no_word_of_its_text(
    stub, status, code, verdict
):
    stub.queue(refused(status, code))

    (result,) = send(stub, sms())

    assert result == verdict.result(code=str(code))


def test_rate_limit_of_twilio_says_how_long(stub):
    stub.queue(refused(429, 20429, **{"Retry-After": "3"}))

    (result,) = send(stub, sms())

    assert result == Verdict.RATE_LIMITED.result(
        code="20429", retry_after=timedelta(seconds=3)
    )


def test_rate_limit_of_something_in_between_proves_nothing(stub):
    stub.queue(Answer(429, b"<html>slow down</html>"))

    (result,) = send(stub, sms())

    assert result == Verdict.UNKNOWN.result(code="http_429")


def test_redirect_is_not_followed(stub):
    with HttpStub() as elsewhere:
        stub.queue(Answer(307, None, {"Location": elsewhere.url}))
        (result,) = send(stub, sms())

    assert result == Verdict.ACCOUNT_FAULT.result(code="http_307")
    assert elsewhere.connections == 0


def test_endless_answer_is_read_no_further_than_its_cap(stub):
    head = b"HTTP/1.1 201 Created\r\nContent-Length: 999999999\r\n\r\n"
    stub.queue(Raw(head + b" " * 500_000))

    (result,) = send(stub, sms())

    assert result == Verdict.UNKNOWN.result(code="http_201 without_id")


def test_answer_that_breaks_off_or_lacks_its_id_proves_nothing(stub):
    stub.queue(CloseHalfway(201), created(sid=None))

    results = send(stub, sms(), sms())

    assert {result.outcome for result in results} == {"unknown"}


def test_peer_that_is_not_there_is_transient(stub):
    stub.stop()

    assert send(stub, sms()) == [Verdict.TRANSIENT.result(code="not_connected")]


def test_nothing_of_a_message_is_logged(stub, caplog):
    caplog.set_level(0)
    stub.queue(refused(400, 21211))

    send(stub, sms(parts={"text": "code 4711"}))

    assert not any(word in caplog.text for word in ("84912345678", "4711", "secret"))
