"""The HTTP adapter against a provider on loopback."""

from __future__ import annotations

import asyncio

import pytest

from foundation.ids import public_id
from providers.base import Verdict
from providers.channels import Channel
from providers.http import HttpAdapter
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.certificates import write_certificate
from tests.stubs.http import Answer, CloseHalfway, HttpStub
from tests.stubs.server import Close, Raw


@pytest.fixture
def stub():
    with HttpStub() as started:
        yield started


def send(url, *messages, token="secret"):
    async def in_turn():
        adapter = HttpAdapter(url=url, token=token)
        try:
            return [await adapter.send(message) for message in messages]
        finally:
            await adapter.aclose()

    return asyncio.run(in_turn())


def test_message_arrives_as_documented(stub):
    message = OutboundMessageFactory.build(channel=Channel.PUSH)

    (result,) = send(stub.url, message)

    (call,) = stub.calls
    assert (call.method, call.path) == ("POST", "/messages")
    assert call.headers["authorization"] == "Bearer secret"
    assert call.headers["content-type"] == "application/json"
    assert call.headers["idempotency-key"] == public_id("dlv", message.delivery_id)
    assert call.json["to"] == "push-token-1"
    assert call.json["parts"] == {"title": "Hello", "body": "Hello."}
    assert result.outcome == "accepted"


def test_requests_follow_each_other_on_one_connection(stub):
    send(stub.url, *(OutboundMessageFactory.build() for _ in range(3)))

    assert [call.connection for call in stub.calls] == [1, 1, 1]


def test_silent_provider_gets_the_same_key_again(stub):
    """O-REL-2: it closes after the whole request has come."""
    message = OutboundMessageFactory.build()
    stub.queue(Close())

    first, second = send(stub.url, message, message)

    assert first == Verdict.UNKNOWN.result(code="lost_after_body")
    assert second.outcome == "accepted"
    assert len({call.headers["idempotency-key"] for call in stub.calls}) == 1


def test_request_is_never_repeated_by_the_adapter_itself(stub):
    stub.always(Close())

    send(stub.url, OutboundMessageFactory.build())

    assert len(stub.calls) == 1


def test_redirect_is_not_followed(stub):
    with HttpStub() as elsewhere:
        stub.queue(Answer(307, None, {"Location": elsewhere.url}))
        (result,) = send(stub.url, OutboundMessageFactory.build())

    assert result == Verdict.ACCOUNT_FAULT.result(code="http_307")
    assert elsewhere.connections == 0


def test_proxy_of_the_environment_is_not_used(stub, monkeypatch):
    with HttpStub() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        send(stub.url, OutboundMessageFactory.build())

    assert (len(stub.calls), proxy.connections) == (1, 0)


def test_cookies_are_not_kept(stub):
    stub.queue(Answer(202, {"id": "1"}, {"Set-Cookie": "session=1"}))

    send(stub.url, OutboundMessageFactory.build(), OutboundMessageFactory.build())

    assert "cookie" not in stub.calls[1].headers


def test_endless_answer_is_read_no_further_than_its_cap(stub):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n"
    stub.queue(Raw(head + b"x" * 500_000))

    (result,) = send(stub.url, OutboundMessageFactory.build())

    assert result == Verdict.UNKNOWN.result(code="http_200 without_id")


def test_compressed_answer_is_not_unpacked(stub):
    """Bad input 95: a bomb would be."""
    stub.queue(Answer(200, b"\x1f\x8b\x08whatever", {"Content-Encoding": "gzip"}))

    (result,) = send(stub.url, OutboundMessageFactory.build())

    assert result == Verdict.UNKNOWN.result(code="http_200 without_id")


def test_answer_that_breaks_off_is_judged_by_its_status(stub):
    stub.queue(CloseHalfway(202), CloseHalfway(400))

    messages = [OutboundMessageFactory.build() for _ in range(2)]
    results = send(stub.url, *messages)

    assert [result.outcome for result in results] == ["unknown", "permanent_error"]


def test_connection_with_half_an_answer_is_not_used_again():
    class Stalling(HttpStub):
        async def perform(self, step, writer):
            writer.write(step.content)
            await asyncio.Event().wait()

    async def give_up_and_send_again(url):
        adapter = HttpAdapter(url=url)
        try:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await adapter.send(OutboundMessageFactory.build())
            return await adapter.send(OutboundMessageFactory.build())
        finally:
            await adapter.aclose()

    with Stalling() as stub:
        stub.queue(Raw(b'HTTP/1.1 202 Accepted\r\nContent-Length: 99\r\n\r\n{"id":'))
        result = asyncio.run(give_up_and_send_again(stub.url))

    assert result.outcome == "accepted"
    assert [call.connection for call in stub.calls] == [1, 2]


def test_answer_in_pieces_is_put_together(stub):
    pieces = b'5\r\n{"id"\r\n6\r\n: "1"}\r\n0\r\n\r\n'
    head = b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n"
    stub.queue(Raw(head + pieces))

    (result,) = send(stub.url, OutboundMessageFactory.build())

    assert result.provider_message_id == "1"


def test_retry_after_reaches_the_result(stub):
    stub.queue(
        Answer(429, {}, {"Retry-After": "7"}), Answer(503, {}, {"Retry-After": "9"})
    )

    limited, busy = send(stub.url, *(OutboundMessageFactory.build() for _ in range(2)))

    assert (limited.outcome, limited.retry_after.seconds) == ("rate_limited", 7)
    assert (busy.outcome, busy.retry_after.seconds) == ("transient_error", 9)


@pytest.mark.parametrize("trusted", [True, False])
def test_certificate_decides_whether_anything_is_said(tmp_path, monkeypatch, trusted):
    certificate, context = write_certificate(tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    with HttpStub(tls=context) as stub:
        url = stub.url.replace("http://", "https://")
        (result,) = send(url, OutboundMessageFactory.build())

    assert len(stub.calls) == trusted
    if not trusted:
        assert result == Verdict.ACCOUNT_FAULT.result(code="tls_certificate")


def test_name_that_does_not_resolve_is_transient():
    (result,) = send("https://nobody.invalid/messages", OutboundMessageFactory.build())

    assert result == Verdict.TRANSIENT.result(code="not_connected")


def test_plain_http_where_tls_is_expected_is_transient(stub):
    stub.queue(Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"), stage="connect")
    url = stub.url.replace("http://", "https://")

    (result,) = send(url, OutboundMessageFactory.build())

    assert result.outcome == "transient_error"
    assert stub.calls == []
