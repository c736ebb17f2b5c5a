"""What every adapter that leaves the process must do, whoever wrote it.

A new adapter gets a Peer: how to reach a stub of its provider, and how to make that
stub fail in each way.
"""

from __future__ import annotations

import asyncio
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

import providers
from providers.base import Adapter, LocalAdapter, Verdict
from providers.channels import Channel
from providers.gateway import Gateway
from providers.sandbox import SandboxAdapter
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.fcm import FcmStub
from tests.stubs.http import Answer, CloseHalfway, HttpStub
from tests.stubs.server import Close, Hang, Raw
from tests.stubs.smtp import Reply, SmtpStub
from tests.stubs.twilio import ACCOUNT_SID, TwilioStub

PATIENT, HURRIED = 20.0, 0.5
BRIEF_CONNECT, BRIEF_OFFER = {"connect_seconds": 0.5}, {"offer_seconds": 0.5}


@dataclass(frozen=True, slots=True)
class Fault:
    """A way to fail, and whether the whole message had left when it did."""

    name: str
    arrange: Callable[[Any], None]
    body_left: bool
    # Of the account; the others end by themselves.
    timeout: float = PATIENT
    options: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """An adapter and a stub of its provider."""

    backend: str
    channels: tuple[Channel, ...]
    start: Callable[[], Any]
    options: Callable[[Any], dict[str, object]]
    # What the stub saw of each message: identity, recipients, everything.
    identities: Callable[[Any], list[str]]
    recipients: Callable[[Any], list[list[str]]]
    contents: Callable[[Any], list[bytes]]
    faults: tuple[Fault, ...]


def queue(*args: Any, **kwargs: Any) -> Callable[[Any], None]:
    return lambda stub: stub.queue(*args, **kwargs)


SMTP = Peer(
    backend="providers.email.smtp.SmtpAdapter",
    channels=(Channel.EMAIL,),
    start=SmtpStub,
    options=lambda stub: {"url": stub.url, "sender": "Acme <notify@acme.example>"},
    identities=lambda stub: [mail.parsed["Message-ID"] for mail in stub.received],
    recipients=lambda stub: [
        [*mail.recipients, *(box.addr_spec for box in mail.parsed["To"].addresses)]
        for mail in stub.received
    ],
    contents=lambda stub: [mail.content for mail in stub.received],
    faults=(
        Fault("refused", lambda stub: stub.stop(), body_left=False),
        Fault("close at once", queue("connect", Close()), body_left=False),
        Fault("garbage at once", queue("connect", Raw(b"\0\xff hello\r\n")), False),
        Fault("4xx greeting", queue("connect", Reply("421 busy")), body_left=False),
        Fault("5xx greeting", queue("connect", Reply("554 no")), body_left=False),
        Fault("hang at once", queue("connect", Hang()), False, options=BRIEF_CONNECT),
        Fault("4xx", queue("rcpt", Reply("450 4.2.1 later")), body_left=False),
        Fault("5xx", queue("rcpt", Reply("550 5.1.1 nobody")), body_left=False),
        Fault(
            "hang before the body", queue("data", Hang()), False, options=BRIEF_OFFER
        ),
        Fault("close before the body", queue("data", Close()), body_left=False),
        Fault("garbage before the body", queue("mail", Raw(b"??\r\n")), False),
        Fault("4xx to the body", queue("dot", Reply("451 4.3.0 later")), True),
        Fault("5xx to the body", queue("dot", Reply("554 5.6.0 no")), True),
        Fault("hang after the body", queue("dot", Hang()), True, HURRIED),
        Fault("close after the body", queue("dot", Close()), body_left=True),
        Fault("garbage after the body", queue("dot", Raw(b"\0\xff\r\n")), True),
        Fault("close in the middle of the reply", queue("dot", Raw(b"250-2.0")), True),
    ),
)


def after_the_body(*, created: int) -> tuple[Fault, ...]:
    """Return what may go wrong with an answer, once the whole request has come."""
    return (
        *(
            Fault(f"{status}", queue(Answer(status)), body_left=True)
            for status in (301, 400, 401, 404, 408, 418, 422, 429, 500, 502, 503, 504)
        ),
        Fault("hang", queue(Hang()), body_left=True, timeout=HURRIED),
        Fault("close", queue(Close()), body_left=True),
        Fault("garbage", queue(Raw(b"\0\xff\r\n\r\n")), body_left=True),
        Fault("garbage in a 2xx", queue(Answer(200, b"<html>")), body_left=True),
        Fault("close in the middle", queue(CloseHalfway(created)), body_left=True),
        Fault("close in the middle of a 4xx", queue(CloseHalfway(400)), True),
    )


HTTP = Peer(
    backend="providers.http.HttpAdapter",
    channels=(Channel.EMAIL, Channel.SMS, Channel.PUSH),
    start=HttpStub,
    options=lambda stub: {"url": stub.url, "token": "secret"},
    identities=lambda stub: [call.headers["idempotency-key"] for call in stub.calls],
    recipients=lambda stub: [[call.json["to"]] for call in stub.calls],
    contents=lambda stub: [call.body for call in stub.calls],
    faults=(
        Fault("refused", lambda stub: stub.stop(), body_left=False),
        Fault("close at once", queue(Close(), stage="connect"), body_left=True),
        Fault("garbage at once", queue(Raw(b"\0\xff\r\n\r\n"), stage="connect"), True),
        *after_the_body(created=202),
    ),
)
TWILIO = Peer(
    backend="providers.sms.twilio.TwilioAdapter",
    channels=(Channel.SMS,),
    start=TwilioStub,
    options=lambda stub: {
        "account_sid": ACCOUNT_SID,
        "auth_token": "secret",
        "sender": "+15005550006",
        "callback_url": "https://notify.acme.example/twilio",
        "url": stub.origin,
    },
    identities=lambda stub: [call.form["StatusCallback"] for call in stub.calls],
    recipients=lambda stub: [[call.form["To"]] for call in stub.calls],
    contents=lambda stub: [call.body for call in stub.calls],
    faults=(
        Fault("refused", lambda stub: stub.stop(), body_left=False),
        Fault("close at once", queue(Close(), stage="connect"), body_left=True),
        Fault("garbage at once", queue(Raw(b"\0\xff\r\n\r\n"), stage="connect"), True),
        *after_the_body(created=201),
    ),
)
FCM = Peer(
    backend="providers.push.fcm.FcmAdapter",
    channels=(Channel.PUSH,),
    start=FcmStub,
    options=lambda stub: {
        "service_account": stub.service_account(),
        "url": stub.origin,
    },
    identities=lambda stub: [
        call.json["message"]["data"]["delivery_id"] for call in stub.sent
    ],
    recipients=lambda stub: [[call.json["message"]["token"]] for call in stub.sent],
    contents=lambda stub: [call.body for call in stub.sent],
    faults=(
        Fault("refused", lambda stub: stub.stop(), body_left=False),
        # The token comes first, over the same port.
        Fault("close at once", queue(Close(), stage="connect"), body_left=False),
        Fault("no token", queue(Close(), stage="token"), body_left=False),
        Fault("bad token", queue(Answer(400), stage="token"), body_left=False),
        Fault(
            "hang before the token",
            queue(Hang(), stage="token"),
            False,
            options={"token_seconds": 0.5},
        ),
        *after_the_body(created=201),
    ),
)
PEERS = {peer.backend: peer for peer in (SMTP, HTTP, TWILIO, FCM)}

FAULTS = [
    pytest.param(peer, fault, id=f"{peer.backend.rpartition('.')[2]}: {fault.name}")
    for peer in PEERS.values()
    for fault in peer.faults
]
by_peer = pytest.mark.parametrize(
    "peer", [pytest.param(peer, id=peer.backend) for peer in PEERS.values()]
)
VERDICTS = {verdict.value for verdict in Verdict}


@pytest.fixture
def attempt(settings):
    """Return a function that sends messages in turn through a gateway of their own."""

    def make(peer, stub, *messages, fault=None):
        options = {**peer.options(stub), **((fault and fault.options) or {})}
        timeout = fault.timeout if fault else PATIENT
        settings.PROVIDERS = {
            "peer": {"BACKEND": peer.backend, "OPTIONS": options, "TIMEOUT": timeout}
        }
        return asyncio.run(in_turn(messages))

    async def in_turn(messages):
        gateway = Gateway()
        try:
            return [await gateway.send(message, alias="peer") for message in messages]
        finally:
            await gateway.aclose()

    return make


@pytest.mark.parametrize(("peer", "fault"), FAULTS)
def test_fault_is_a_result_that_says_no_more_than_is_known(attempt, peer, fault):
    with peer.start() as stub:
        fault.arrange(stub)
        (result,) = attempt(peer, stub, message_for(peer), fault=fault)

    assert (result.outcome, result.scope) in VERDICTS
    assert result.outcome != "accepted"
    assert result.code
    if result.outcome == "unknown":
        assert fault.body_left


@pytest.mark.parametrize(
    ("peer", "fault"), [row for row in FAULTS if "refused" not in str(row.id)]
)
def test_adapter_works_again_after_a_fault(attempt, peer, fault):
    with peer.start() as stub:
        fault.arrange(stub)
        messages = [message_for(peer), message_for(peer)]
        _, result = attempt(peer, stub, *messages, fault=fault)

    assert result.outcome == "accepted"
    assert result.provider_message_id


@by_peer
def test_silence_after_the_body_is_unknown(attempt, peer):
    """O-REL-2: not failed, not sent."""
    silent = [fault for fault in peer.faults if fault.timeout == HURRIED]
    assert silent
    for fault in silent:
        with peer.start() as stub:
            fault.arrange(stub)
            (result,) = attempt(peer, stub, message_for(peer), fault=fault)

        assert result == Verdict.UNKNOWN.result(code="timeout")


@by_peer
def test_peer_that_is_not_there_is_transient(attempt, peer):
    """O-REL-2, third run."""
    with peer.start() as stub:
        stub.stop()
        (result,) = attempt(peer, stub, message_for(peer))

    assert result.outcome == "transient_error"


@by_peer
def test_retry_carries_the_same_identity(attempt, peer):
    """O-REL-2."""
    first = message_for(peer)
    again = OutboundMessageFactory.build(
        delivery_id=first.delivery_id, channel=first.channel, attempt=2
    )
    with peer.start() as stub:
        results = attempt(peer, stub, first, again, message_for(peer))
        identities = peer.identities(stub)

    assert [result.outcome for result in results] == ["accepted"] * 3
    assert identities[0] == identities[1] != identities[2]


@by_peer
def test_each_message_shows_its_own_recipient_only(attempt, peer):
    """O-SEC-5."""
    names = ["ada", "grace", "edsger"]
    messages = [
        message_for(
            peer,
            address=address_for(peer, name),
            parts={"subject": name, "text": f"Hello {name}"},
        )
        for name in names
    ]
    with peer.start() as stub:
        attempt(peer, stub, *messages)
        recipients, contents = peer.recipients(stub), peer.contents(stub)

    for name, to, content in zip(names, recipients, contents, strict=True):
        assert set(to) == {address_for(peer, name)}
        assert not any(other.encode() in content for other in set(names) - {name})


@by_peer
def test_every_channel_it_lists_is_served(attempt, peer):
    messages = [
        OutboundMessageFactory.build(channel=channel) for channel in peer.channels
    ]
    with peer.start() as stub:
        results = attempt(peer, stub, *messages)

    assert {result.outcome for result in results} == {"accepted"}
    assert known_adapters()[peer.backend].channels == set(peer.channels)


@by_peer
def test_adapter_leaves_no_connection_behind(attempt, peer):
    with peer.start() as stub:
        attempt(peer, stub, message_for(peer))

        stub.wait_until(lambda: stub.open_connections == 0)


def test_every_adapter_has_a_peer():
    remote = {
        path
        for path, adapter in known_adapters().items()
        # The sandbox has no peer: its own tests play its faults.
        if not issubclass(adapter, LocalAdapter | SandboxAdapter)
    }

    assert remote == set(PEERS)


def known_adapters() -> dict[str, type[Adapter]]:
    found = {}
    for module in pkgutil.walk_packages(providers.__path__, "providers."):
        for name, value in vars(import_module(module.name)).items():
            if inspect.isclass(value) and issubclass(value, Adapter):
                found[f"{value.__module__}.{name}"] = value
    return {path: kind for path, kind in found.items() if not inspect.isabstract(kind)}


def address_for(peer: Peer, name: str) -> str:
    if peer.channels == (Channel.SMS,):
        return f"+84{int.from_bytes(name.encode()) % 10**9:09}"
    return f"{name}@example.org"


def message_for(peer: Peer, **fields: Any) -> Any:
    return OutboundMessageFactory.build(channel=peer.channels[0], **fields)
