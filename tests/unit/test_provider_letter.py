"""What goes into a mail, and what cannot get into one."""

from __future__ import annotations

from email import message_from_bytes, policy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foundation.ids import public_id
from providers.email.letter import (
    MalformedAddress,
    compose,
    one_line,
    parse_mailbox,
    parse_sender,
)
from tests.factories.providers import OutboundMessageFactory

SENDER = parse_sender('"Acme, Inc" <notify@acme.example>')


def mail_of(**fields):
    letter = compose(OutboundMessageFactory.build(**fields), sender=SENDER)
    return message_from_bytes(letter.content, policy=policy.default)


def test_subject_and_text_are_not_escaped():
    """O-EML-1."""
    said = "Order for O'Brien & Sons <VIP>"

    mail = mail_of(parts={"subject": said, "text": said, "html": "<p>&lt;VIP&gt;</p>"})

    assert mail["Subject"] == said
    assert mail.get_body(("plain",)).get_content().strip() == said
    assert mail.get_body(("html",)).get_content().strip() == "<p>&lt;VIP&gt;</p>"


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("\nYour invoice\n", "Your invoice"),
        ("Lead the change:\nat TEDx Example", "Lead the change: at TEDx Example"),
        ("Hi\r\nBcc: victim@example.net", "Hi Bcc: victim@example.net"),
        ("a\u2028b\u2029c\x85d\x0be\x00f\tg", "a b c d e f g"),
        ("Đơn hàng\r\n của bạn", "Đơn hàng của bạn"),
    ],
)
def test_subject_is_one_line(written, sent):
    """O-EML-2, bad input 46."""
    mail = mail_of(parts={"subject": written, "text": "x"})

    assert mail.get_all("Subject") == [sent]
    assert mail["Bcc"] is None


@settings(deadline=None)
@given(st.text(max_size=300))
def test_no_subject_adds_a_header(subject):
    mail = mail_of(parts={"subject": subject, "text": "x"})

    assert mail.keys() == mail_of(parts={"subject": "s", "text": "x"}).keys()
    assert len(one_line(subject).splitlines()) <= 1


def test_mail_says_what_it_is_and_which_delivery():
    message = OutboundMessageFactory.build()
    delivery = public_id("dlv", message.delivery_id)

    letter = compose(message, sender=SENDER)
    mail = message_from_bytes(letter.content, policy=policy.default)

    assert mail["Message-ID"] == f"<{delivery}@acme.example>" == letter.message_id
    assert mail["X-Delivery-Id"] == delivery
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["From"] == '"Acme, Inc" <notify@acme.example>'
    assert mail["Date"].datetime.utcoffset().total_seconds() == 0


def test_retry_carries_the_same_message_id():
    """O-REL-2."""
    message = OutboundMessageFactory.build()

    first, second = (compose(message, sender=SENDER) for _ in range(2))

    assert first.message_id == second.message_id


@pytest.mark.parametrize("parts", [{"text": "Hi."}, {"html": "<p>Hi.</p>"}])
def test_one_body_alone_is_sent_alone(parts):
    mail = mail_of(parts={"subject": "s", **parts})

    assert not mail.is_multipart()
    assert "Hi." in mail.get_content()


def test_content_is_ascii_in_lines_that_end_in_crlf():
    text = "Đ" * 3000 + "\nbare\rreturns\n.\n"

    letter = compose(
        OutboundMessageFactory.build(parts={"subject": "Đ" * 400, "text": text}),
        sender=SENDER,
    )

    assert letter.content.isascii()
    assert max(map(len, letter.content.split(b"\r\n"))) <= 998
    assert b"\n" not in letter.content.replace(b"\r\n", b"")


@pytest.mark.parametrize(
    "address",
    [
        "r3+news@example.com",
        "firstname.o'lastname@example.com",
        "_______@example.com",
        "user@xn--r8jz45g.xn--zckzah",
        '"quoted local"@example.com',
    ],
)
def test_plain_address_goes_out_exactly_as_it_is(address):
    """O-EML-3, bad input 66."""
    letter = compose(OutboundMessageFactory.build(address=address), sender=SENDER)
    mail = message_from_bytes(letter.content, policy=policy.default)

    assert letter.recipient == address
    assert [mailbox.addr_spec for mailbox in mail["To"].addresses] == [address]


@pytest.mark.parametrize(
    "address",
    [
        "a@example.com, c@example.com",
        "a@example.com;c@example.com",
        '"a@example.com" <x@example.net>',
        "A <a@example.com>",
        "a(comment)@example.com",
        "group:a@example.com;",
        "a@example.com\r\nBcc: x@example.net",
        "a@example.com\n",
        " a@example.com",
        "a\x00@example.com",
        "тест@example.com",
        "a@例え.テスト",
        "a@b@example.com",
        "a..b@example.com",
        "@example.com",
        "a@",
        "a",
        "",
    ],
)
def test_anything_but_one_address_is_refused(address):
    """Bad input 68, 71; O-SEC-5."""
    with pytest.raises(MalformedAddress):
        parse_mailbox(address)


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from('ab@.,;:<>()"\\ \r\n\x00é[]'), max_size=20))
def test_whatever_passes_for_an_address_is_one_recipient(text):
    try:
        parse_mailbox(text)
    except MalformedAddress:
        return
    mail = mail_of(address=text)

    assert len(mail["To"].addresses) == 1


@pytest.mark.parametrize(
    ("written", "header"),
    [
        ("a@acme.example", "a@acme.example"),
        ("Acme <a@acme.example>", "Acme <a@acme.example>"),
        ('"Acme, Inc. <3" <a@acme.example>', '"Acme, Inc. <3" <a@acme.example>'),
        ('"A \\"quote\\"" <a@acme.example>', '"A \\"quote\\"" <a@acme.example>'),
        ("Công ty Đại Nam <a@acme.example>", "Công ty Đại Nam <a@acme.example>"),
    ],
)
def test_a_senders_name_is_quoted_where_it_has_to_be(written: str, header: str):
    """Bad input 47."""
    sender = parse_sender(written)

    assert str(sender) == header
    letter = compose(OutboundMessageFactory.build(), sender=sender)
    parsed = message_from_bytes(letter.content, policy=policy.default)
    assert parsed["From"].addresses == (sender,)


@pytest.mark.parametrize(
    "written",
    [
        '"ceo@bank.example" <a@acme.example>',
        "A\u202emca <a@acme.example>",
        "A\u200bcme <a@acme.example>",
        "Acme\r\nBcc: x@y.example <a@acme.example>",
        "Acme\x00 <a@acme.example>",
        "a@acme.example, b@acme.example",
        "Acme <a@acme.example> <b@acme.example>",
        "Acme",
        "",
    ],
)
def test_a_sender_that_misleads_is_refused(written: str):
    """Bad input 47."""
    with pytest.raises(MalformedAddress):
        parse_sender(written)


def test_variables_are_never_names_or_values_of_headers_but_in_the_subject():
    """Bad input 48."""
    parts = {"subject": "Hi", "text": "X-Evil: 1\r\nBcc: x@y.example", "x-evil": "1"}

    letter = compose(OutboundMessageFactory.build(parts=parts), sender=SENDER)

    parsed = message_from_bytes(letter.content, policy=policy.default)
    names = {name.lower() for name in parsed}
    assert not names & {"x-evil", "bcc", "reply-to"}
