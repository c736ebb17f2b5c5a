"""The FCM adapter against Google's two endpoints on loopback."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from foundation.ids import public_id
from providers.base import Verdict
from providers.channels import Channel
from providers.push.fcm import FcmAdapter
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.fcm import (
    PROJECT,
    FcmStub,
    fcm_error,
    granted,
    read_assertion,
    refused,
)
from tests.stubs.fcm_document import METHOD
from tests.stubs.http import Answer, HttpStub
from tests.stubs.server import Close, Hang, Raw

EXPIRED = refused(401, "UNAUTHENTICATED")


@pytest.fixture
def stub():
    with FcmStub() as started:
        yield started


def push(**fields):
    return OutboundMessageFactory.build(channel=Channel.PUSH, **fields)


def run(stub, conversation, **options):
    """Have a conversation with an adapter of its own."""

    async def hold():
        options.setdefault("service_account", stub.service_account())
        adapter = FcmAdapter(url=stub.origin, **options)
        try:
            return await conversation(adapter)
        finally:
            await adapter.aclose()

    return asyncio.run(hold())


def send(stub, *messages, **options):
    async def in_turn(adapter):
        return [await adapter.send(message) for message in messages]

    return run(stub, in_turn, **options)


def message_in(call):
    return call.json["message"]


def bearers(stub):
    return [call.headers["authorization"] for call in stub.sent]


def test_message_arrives_as_fcm_documents_it(stub):
    message = push(
        parts={
            "title": "Xin chào",
            "body": "👍",
            "data": '{"order": 5}',
            "link": "https://acme.example/orders/5",
        },
    )
    delivery = public_id("dlv", message.delivery_id)

    (result,) = send(stub, message)

    (call,) = stub.sent
    written = message_in(call)
    assert written["token"] == "push-token-1"
    assert written["notification"] == {"title": "Xin chào", "body": "👍"}
    assert written["data"] == {
        "order": "5",
        "link": "https://acme.example/orders/5",
        "delivery_id": delivery,
    }
    assert call.headers["authorization"] == "Bearer token-1"
    assert result.outcome == "accepted"
    assert result.provider_message_id.startswith(f"projects/{PROJECT}/messages/")


def test_second_copy_takes_the_place_of_the_first(stub):
    """There is no idempotency key."""
    message = push()
    delivery = public_id("dlv", message.delivery_id)

    send(stub, message, message)

    first, second = (message_in(call) for call in stub.sent)
    assert FcmAdapter.idempotency_window is None
    assert first == second
    assert first["android"] == {"notification": {"tag": delivery}}
    assert first["apns"]["headers"] == {"apns-collapse-id": delivery}
    assert first["webpush"]["headers"] == {"Topic": delivery}


@pytest.mark.parametrize(
    ("lifetime", "seconds"),
    [
        (timedelta(minutes=5), range(290, 301)),
        (timedelta(days=60), [2_419_200]),
        (timedelta(seconds=-5), [0]),
    ],
)
def test_fcm_keeps_nothing_longer_than_the_message_is_worth(stub, lifetime, seconds):
    expires_at = datetime.now(tz=UTC) + lifetime

    send(stub, push(expires_at=expires_at))

    written = message_in(stub.sent[0])
    assert int(written["android"]["ttl"].removesuffix("s")) in seconds
    assert int(written["webpush"]["headers"]["TTL"]) in seconds
    apns = written["apns"]["headers"]["apns-expiration"]
    assert int(apns) == int(expires_at.timestamp())


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ({"title": "x", "body": "é" * 2_100}, "payload_too_large"),
        ({"title": "x", "data": '{"google.x": "1"}'}, "reserved_data_key"),
    ],
)
def test_what_fcm_would_refuse_is_never_sent(stub, parts, code):
    (result,) = send(stub, push(parts=parts))

    assert result == Verdict.BAD_MESSAGE.result(code=code)
    assert stub.calls == []


def test_assertion_is_signed_for_the_token_endpoint(stub):
    send(stub, push())

    (call,) = stub.token_calls
    assertion = read_assertion(call)
    claims = assertion.claims
    assert assertion.header == {"alg": "RS256", "typ": "JWT", "kid": "key-1"}
    assert claims["iss"] == "push@acme-push.iam.gserviceaccount.com"
    assert claims["aud"] == f"{stub.origin}/token"
    assert claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging"
    assert claims["scope"] in METHOD["scopes"]
    assert claims["exp"] - claims["iat"] == 3600
    assert abs(claims["iat"] - time.time()) < 10


def test_token_is_asked_for_once_and_kept(stub):
    async def at_once(adapter):
        return await asyncio.gather(*(adapter.send(push()) for _ in range(5)))

    results = run(stub, at_once)

    assert {result.outcome for result in results} == {"accepted"}
    assert bearers(stub) == ["Bearer token-1"] * 5
    assert len(stub.token_calls) == 1


@pytest.mark.parametrize("expires_in", [30, 0, -1, None, "3599", 1e400, -(10**400)])
def test_token_near_its_end_is_not_used_again(stub, expires_in):
    stub.queue(granted("short", expires_in=expires_in), stage="token")

    results = send(stub, push(), push())

    assert [result.outcome for result in results] == ["accepted"] * 2
    # Infinity is taken for the hour that a token can live at most.
    again = "Bearer short" if expires_in == float("inf") else "Bearer token-2"
    assert bearers(stub) == ["Bearer short", again]


def test_refused_token_is_replaced_once_and_the_message_accepted(stub):
    stub.queue(EXPIRED)

    results = send(stub, push(), push())

    assert [result.outcome for result in results] == ["accepted"] * 2
    assert bearers(stub) == ["Bearer token-1", "Bearer token-2", "Bearer token-2"]


def test_token_that_is_refused_twice_is_the_accounts_fault(stub):
    stub.always(EXPIRED)

    (result,) = send(stub, push())

    assert result == Verdict.ACCOUNT_FAULT.result(code="UNAUTHENTICATED")
    assert (len(stub.sent), len(stub.token_calls)) == (2, 2)


def test_one_replacement_serves_all_whose_token_was_refused(stub):
    stub.queue(*[EXPIRED] * 3)

    async def at_once(adapter):
        await adapter._tokens.current()
        return await asyncio.gather(*(adapter.send(push()) for _ in range(3)))

    results = run(stub, at_once)

    assert {result.outcome for result in results} == {"accepted"}
    assert len(stub.token_calls) == 2


def test_token_that_was_replaced_meanwhile_is_not_replaced_again(stub):
    async def late(adapter):
        refused_token = await adapter._tokens.current()
        replaced = [await adapter._tokens.replacement(refused_token) for _ in range(2)]
        return refused_token, *replaced

    assert run(stub, late) == ("token-1", "token-2", "token-2")
    assert len(stub.token_calls) == 2


def test_missing_apns_key_is_no_reason_for_another_token(stub):
    stub.queue(refused(401, "UNAUTHENTICATED", fcm_error("THIRD_PARTY_AUTH_ERROR")))

    (result,) = send(stub, push())

    assert result == Verdict.ACCOUNT_FAULT.result(code="THIRD_PARTY_AUTH_ERROR")
    assert len(stub.token_calls) == 1


@pytest.mark.parametrize(
    ("step", "verdict", "code"),
    [
        (
            Answer(400, {"error": "invalid_grant", "error_description": "push@acme"}),
            Verdict.ACCOUNT_FAULT,
            "token http_400 invalid_grant",
        ),
        (Answer(401, {"error": "Bad"}), Verdict.ACCOUNT_FAULT, "token http_401"),
        (Answer(307, None), Verdict.ACCOUNT_FAULT, "token http_307"),
        (Answer(429, {}), Verdict.RATE_LIMITED, "token http_429"),
        (Answer(500, {}), Verdict.TRANSIENT, "token http_500"),
        (Answer(200, b"<html>"), Verdict.TRANSIENT, "token http_200"),
        (granted(""), Verdict.TRANSIENT, "token http_200"),
        (granted("a\r\nX: y"), Verdict.TRANSIENT, "token http_200"),
        (Close(), Verdict.TRANSIENT, "token lost_after_body"),
        (Raw(b"\0\xff\r\n\r\n"), Verdict.TRANSIENT, "token lost_after_body"),
        (Hang(), Verdict.TRANSIENT, "token timeout"),
    ],
)
def test_without_a_token_nothing_was_sent_and_nothing_is_unknown(
    stub, step, verdict, code
):
    stub.queue(step, stage="token")

    failed, after = send(stub, push(), push(), token_seconds=0.5)

    assert failed == verdict.result(code=code)
    assert after.outcome == "accepted"
    assert len(stub.sent) == 1


def test_caller_that_gives_up_does_not_take_the_token_from_others(stub):
    async def one_gives_up(adapter):
        hasty = asyncio.create_task(adapter.send(push()))
        patient = asyncio.create_task(adapter.send(push()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        hasty.cancel()
        return await patient

    result = run(stub, one_gives_up)

    assert result.outcome == "accepted"
    assert len(stub.token_calls) == 1


def test_adapter_closes_in_the_middle_of_a_refresh(stub):
    stub.queue(Hang(), stage="token")

    async def give_up(adapter):
        sending = asyncio.create_task(adapter.send(push()))
        await asyncio.to_thread(stub.wait_for_calls, 1)
        sending.cancel()
        return await asyncio.gather(sending, return_exceptions=True)

    (result,) = run(stub, give_up, token_seconds=600)

    assert isinstance(result, asyncio.CancelledError)


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (refused(404, "NOT_FOUND", fcm_error("UNREGISTERED")), Verdict.DEAD_TOKEN),
        (refused(404, "NOT_FOUND"), Verdict.ACCOUNT_FAULT),
        (refused(429, "RESOURCE_EXHAUSTED"), Verdict.RATE_LIMITED),
        (refused(503, "UNAVAILABLE"), Verdict.TRANSIENT),
        (refused(500, "INTERNAL"), Verdict.UNKNOWN),
        (Answer(502, b"<html>"), Verdict.UNKNOWN),
        (Answer(200, {"name": 5}), Verdict.UNKNOWN),
        (Close(), Verdict.UNKNOWN),
    ],
)
def test_answer_reaches_the_result(stub, step, verdict):
    stub.queue(step)

    (result,) = send(stub, push())

    assert (result.outcome, result.scope) == verdict.value
    assert len(stub.sent) == 1


def test_redirect_is_not_followed(stub):
    with HttpStub() as elsewhere:
        stub.queue(Answer(307, None, {"Location": elsewhere.url}))
        (result,) = send(stub, push())

    assert result == Verdict.ACCOUNT_FAULT.result(code="http_307")
    assert elsewhere.connections == 0


def test_peer_that_is_not_there_is_transient(stub):
    stub.stop()

    assert send(stub, push()) == [Verdict.TRANSIENT.result(code="token not_connected")]


def test_nothing_of_a_message_is_logged(stub, caplog):
    caplog.set_level(0)
    stub.queue(refused(404, "NOT_FOUND", fcm_error("UNREGISTERED")))

    send(stub, push(parts={"title": "code 4711"}))

    words = ("push-token-1", "4711", "token-1", "PRIVATE KEY")
    assert not any(word in caplog.text for word in words)
