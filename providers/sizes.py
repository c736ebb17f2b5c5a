"""How large a message becomes on its way, before there is anybody to send it to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.headerregistry import Address
from uuid import UUID

from foundation.ids import public_id
from providers.base import OutboundMessage
from providers.channels import Channel
from providers.email.letter import compose
from providers.http import UnsendableMessage
from providers.push.fcm_message import LARGEST_PAYLOAD, payload_bytes, write_payload
from tenants.categories import Priority

_NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSize:
    """The bytes of a push message's payload, None where it cannot be written; `fault`
    is the code with which it would fail."""

    bytes: int | None
    limit: int = LARGEST_PAYLOAD
    fault: str = ""


def push_size(parts: Mapping[str, str]) -> PushSize:
    """Count the payload as it would go to Firebase, and on to Apple."""
    try:
        payload = write_payload(parts, delivery=public_id("dlv", _NOBODY))
    except UnsendableMessage as unsendable:
        return PushSize(bytes=None, fault=str(unsendable))
    size = payload_bytes(payload)
    return PushSize(
        bytes=size, fault="payload_too_large" if size > LARGEST_PAYLOAD else ""
    )


def letter_bytes(parts: Mapping[str, str]) -> int:
    """Count a whole e-mail, encoded for its way, with headers of usual length."""
    sender = Address(display_name="Somebody", addr_spec="somebody@mail.example.com")
    letter = compose(_to_nobody(parts), sender=sender)
    return len(letter.content)


def _to_nobody(parts: Mapping[str, str]) -> OutboundMessage:
    return OutboundMessage(
        delivery_id=_NOBODY,
        notification_id=_NOBODY,
        tenant_id=0,
        user_id="nobody",
        channel=Channel.EMAIL,
        priority=Priority.NORMAL,
        category="",
        address="nobody@example.com",
        parts=parts,
        locale="",
        attempt=1,
        expires_at=None,
        is_test=True,
        address_id=None,
    )
