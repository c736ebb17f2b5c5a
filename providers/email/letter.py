"""Compose the message that goes to one mailbox."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import getaddresses
from unicodedata import category

from foundation.ids import public_id
from providers.base import OutboundMessage

# 7 bit: a server without 8BITMIME may not be sent anything else.
_POLICY = SMTP.clone(cte_type="7bit")
# Controls, what is invisible or changes the direction of writing, line breaks.
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class MalformedAddress(ValueError):
    """This is not one plain address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """An envelope for one recipient, and its content as it goes over the wire."""

    sender: str
    recipient: str
    message_id: str
    content: bytes


def parse_sender(text: str) -> Address:
    """Read `Name <name@example.com>` or a bare address; raise MalformedAddress.

    A name that holds an address, or characters that nobody sees or that turn others
    around, would pass the letter off as somebody else's.
    """
    mailboxes = getaddresses([text])
    if len(mailboxes) != 1:
        raise MalformedAddress("not one mailbox")
    name, address = mailboxes[0]
    if "@" in name or any(category(each) in _UNSEEN for each in name):
        raise MalformedAddress("a name that misleads")
    return Address(display_name=name, addr_spec=parse_mailbox(address).addr_spec)


def parse_mailbox(text: str) -> Address:
    """Read exactly one addr-spec; raise MalformedAddress for a list, a name, a comment.

    ASCII only: what SMTPUTF8 would be needed for is refused, an internationalised
    domain comes as punycode.
    """
    try:
        address = Address(addr_spec=text)
    except (ValueError, IndexError, HeaderParseError) as fault:
        raise MalformedAddress("not one address") from fault
    if address.addr_spec != text or not address.domain or not text.isascii():
        raise MalformedAddress("not one plain address")
    return address


def compose(message: OutboundMessage, *, sender: Address) -> Letter:
    """Write the letter of a delivery; every retry of it carries the same Message-ID."""
    recipient = parse_mailbox(message.address)
    delivery = public_id("dlv", message.delivery_id)
    message_id = f"<{delivery}@{sender.domain}>"
    mail = EmailMessage(policy=_POLICY)
    mail["From"] = sender
    mail["To"] = recipient
    mail["Subject"] = one_line(message.parts.get("subject", ""))
    mail["Date"] = datetime.now(tz=UTC)
    mail["Message-ID"] = message_id
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Delivery-Id"] = delivery
    if message.unsubscribe_url:
        # RFC 8058: both, and both signed by whoever signs for the domain.
        mail["List-Unsubscribe"] = f"<{message.unsubscribe_url}>"
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    _write_body(mail, message)
    return Letter(
        sender=sender.addr_spec,
        recipient=recipient.addr_spec,
        message_id=message_id,
        content=mail.as_bytes(),
    )


def one_line(text: str) -> str:
    """Put text on one line: breaks and control characters become one space."""
    return " ".join(_CONTROL.sub(" ", text).split())


def _write_body(mail: EmailMessage, message: OutboundMessage) -> None:
    text, html = message.parts.get("text"), message.parts.get("html")
    if html is None:
        mail.set_content(text or "")
    elif text is None:
        mail.set_content(html, subtype="html")
    else:
        mail.set_content(text)
        mail.add_alternative(html, subtype="html")
