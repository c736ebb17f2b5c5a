"""The SMTP adapter against a mail server on loopback."""

from __future__ import annotations

import asyncio
from email import message_from_bytes, policy

import pytest
from aiosmtpd.controller import Controller

from providers.base import Verdict
from providers.email.smtp import SmtpAdapter
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.certificates import write_certificate
from tests.stubs.server import Close, Raw
from tests.stubs.smtp import Reply, SmtpStub

SENDER = "Acme <notify@acme.example>"


@pytest.fixture
def stub():
    with SmtpStub() as started:
        yield started


def send(url, *messages):
    async def in_turn():
        adapter = SmtpAdapter(url=url, sender=SENDER)
        try:
            return [await adapter.send(message) for message in messages]
        finally:
            await adapter.aclose()

    return asyncio.run(in_turn())


def letters(count, **fields):
    return [OutboundMessageFactory.build(**fields) for _ in range(count)]


def test_letters_follow_each_other_on_one_connection(stub):
    results = send(stub.url, *letters(3))

    assert {result.outcome for result in results} == {"accepted"}
    assert stub.connections == 1
    assert stub.commands[-1] == "QUIT"


def test_message_id_of_the_letter_is_the_providers_id(stub):
    (result,) = send(stub.url, *letters(1))

    assert result.provider_message_id == stub.received[0].parsed["Message-ID"]


def test_envelope_has_our_sender_and_one_recipient(stub):
    send(stub.url, *letters(1, address="r3+news@example.com"))

    (mail,) = stub.received
    assert mail.sender == "notify@acme.example"
    assert mail.recipients == ("r3+news@example.com",)


def test_concurrent_letters_do_not_share_a_connection(stub):
    async def together():
        adapter = SmtpAdapter(url=stub.url, sender=SENDER)
        results = await asyncio.gather(*(adapter.send(m) for m in letters(5)))
        await adapter.send(OutboundMessageFactory.build())
        await adapter.aclose()
        return results

    results = asyncio.run(together())

    assert {result.outcome for result in results} == {"accepted"}
    assert stub.connections == 5
    assert len({mail.connection for mail in stub.received[:5]}) == 5


def test_connection_that_went_stale_is_replaced_before_anything_is_sent(stub):
    stub.queue("rset", Close())

    results = send(stub.url, *letters(2))

    assert {result.outcome for result in results} == {"accepted"}
    assert [mail.connection for mail in stub.received] == [1, 2]


def test_restarted_server_costs_no_attempt(stub):
    async def scenario():
        adapter = SmtpAdapter(url=stub.url, sender=SENDER)
        first = await adapter.send(OutboundMessageFactory.build())
        await asyncio.to_thread(stub.stop)
        await asyncio.to_thread(stub.start)
        second = await adapter.send(OutboundMessageFactory.build())
        await adapter.aclose()
        return [first.outcome, second.outcome]

    assert asyncio.run(scenario()) == ["accepted", "accepted"]


def test_refused_recipient_costs_no_connection(stub):
    stub.queue("rcpt", Reply("550 5.1.1 nobody"))

    refused, accepted = send(stub.url, *letters(2))

    assert (refused.outcome, refused.scope) == Verdict.DEAD_ADDRESS.value
    assert accepted.outcome == "accepted"
    assert stub.connections == 1


def test_connection_is_left_before_the_server_tires_of_it(stub):
    send(stub.url, *letters(51))

    assert stub.connections == 2


def test_server_that_takes_everything_and_says_nothing_leaves_an_unknown(stub):
    """O-REL-2, first run: the retry is the same letter."""
    message = OutboundMessageFactory.build()
    stub.queue("dot", Close())

    first, second = send(stub.url, message, message)

    assert first == Verdict.UNKNOWN.result(code="lost_after_data")
    assert second.outcome == "accepted"
    assert len({mail.parsed["Message-ID"] for mail in stub.received}) == 1


def test_connection_lost_within_the_body_was_not_accepted(stub):
    stub.queue("data", Raw(b"354 go ahead\r\n"))
    parts = {"subject": "big", "text": "x" * 12_000_000}

    (result,) = send(stub.url, *letters(1, parts=parts))

    assert result == Verdict.TRANSIENT.result(code="lost_before_body")


def test_refused_sender_is_the_accounts_fault(stub):
    stub.queue("mail", Reply("550 5.1.0 who?"))

    (result,) = send(stub.url, *letters(1))

    assert (result.outcome, result.scope) == Verdict.ACCOUNT_FAULT.value


def test_server_that_speaks_no_ehlo_is_greeted_with_helo(stub):
    stub.queue("ehlo", Reply("502 5.5.1 what?"))

    (result,) = send(stub.url, *letters(1))

    assert result.outcome == "accepted"


def test_body_cannot_end_the_message_early(stub):
    """A dot on a line of its own, whatever its line breaks."""
    smuggled = "MAIL FROM:<x@example.net>"
    endings = ["\r\n.\r\n", "\n.\n", "\r.\r", "\n.\r\n", "\r\n.\n", "\r\n..\r\n"]
    text = "start" + smuggled.join(endings) + "end"

    send(stub.url, *letters(1, parts={"subject": "s", "text": text}))

    (mail,) = stub.received
    body = mail.parsed.get_content()
    assert body.count(smuggled) == len(endings) - 1
    assert [line for line in body.splitlines() if "end" in line] == ["end"]
    assert not any(command.startswith("MAIL FROM:<x") for command in stub.commands)


@pytest.mark.parametrize("address", ["a@example.org, b@example.org", "not one", ""])
def test_malformed_address_is_refused_before_a_connection(stub, address):
    """O-SEC-5: it would be two recipients."""
    (result,) = send(stub.url, *letters(1, address=address))

    assert (result.outcome, result.scope) == Verdict.BAD_RECIPIENT.value
    assert stub.connections == 0


def test_user_logs_in():
    with SmtpStub(credentials=("us@er", "pass/word")) as stub:
        url = f"smtp://us%40er:pass%2Fword@127.0.0.1:{stub.port}?tls=none"
        (result,) = send(url, *letters(1))

    assert result.outcome == "accepted"
    assert any(command.startswith("AUTH PLAIN") for command in stub.commands)


def test_wrong_password_is_the_accounts_fault():
    with SmtpStub(credentials=("user", "right")) as stub:
        url = f"smtp://user:wrong@127.0.0.1:{stub.port}?tls=none"
        (result,) = send(url, *letters(1))

    assert result == Verdict.ACCOUNT_FAULT.result(code="535 5.7.8")


@pytest.mark.parametrize("tls", ["starttls", "tls"])
@pytest.mark.parametrize("trusted", [True, False])
def test_certificate_decides_whether_anything_is_said(
    tmp_path, monkeypatch, tls, trusted
):
    """Several letters: the flow control of a TLS connection is another one."""
    certificate, context = write_certificate(tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    options = {"starttls": context} if tls == "starttls" else {"tls": context}

    with SmtpStub(credentials=("user", "secret"), **options) as stub:
        url = f"smtp://user:secret@127.0.0.1:{stub.port}?tls={tls}"
        results = send(url, *letters(4))

    if trusted:
        assert {result.outcome for result in results} == {"accepted"}
        assert stub.connections == 1
    else:
        assert results == [Verdict.ACCOUNT_FAULT.result(code="tls_certificate")] * 4
        assert not any(command.startswith("AUTH") for command in stub.commands)


def test_encryption_that_is_not_offered_is_not_done_without(stub):
    url = f"smtp://user:secret@127.0.0.1:{stub.port}?tls=starttls"

    (result,) = send(url, *letters(1))

    assert result == Verdict.ACCOUNT_FAULT.result(code="not_offered")
    assert not any(command.startswith("AUTH") for command in stub.commands)


class Mailbox:
    """What another implementation of SMTP understood."""

    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 -- aiosmtpd's name
        self.mails.append((envelope.rcpt_tos, envelope.content))
        return "250 OK"


def test_another_servers_reading_of_it():
    mailbox = Mailbox()
    with SmtpStub() as somebody:
        port = somebody.port  # free again in a moment; aiosmtpd cannot choose one
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        parts = {"subject": "Đơn hàng", "text": "Xin chào\n.\n", "html": "<p>Chào</p>"}
        results = send(f"smtp://127.0.0.1:{port}?tls=none", *letters(2, parts=parts))
    finally:
        controller.stop()

    assert {result.outcome for result in results} == {"accepted"}
    (recipients, content), _ = mailbox.mails
    mail = message_from_bytes(content, policy=policy.default)
    assert recipients == ["r2@example.org"]
    assert mail["Subject"] == "Đơn hàng"
    plain, html = mail.iter_parts()
    assert plain.get_content().split() == ["Xin", "chào", "."]
    assert html.get_content().strip() == "<p>Chào</p>"
