"""Routes of tenants, and messages to send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from factory.base import Factory
from factory.declarations import LazyAttribute, LazyFunction, SubFactory
from factory.django import DjangoModelFactory

from foundation.ids import new_id
from providers.base import OutboundMessage
from providers.channels import Channel
from providers.models import ProviderRoute, SandboxMessage
from tenants import data_keys
from tenants.categories import Priority
from tests.factories.tenants import TenantFactory

_ADDRESSES = {
    Channel.EMAIL: "r2@example.org",
    Channel.SMS: "+84912345678",
    Channel.PUSH: "push-token-1",
    Channel.IN_APP: "",
}
_PARTS = {
    Channel.EMAIL: {"subject": "Hello", "text": "Hello.", "html": "<p>Hello.</p>"},
    Channel.SMS: {"text": "Hello."},
    Channel.PUSH: {"title": "Hello", "body": "Hello."},
    Channel.IN_APP: {"title": "Hello", "body": "Hello."},
}


class ProviderRouteFactory(DjangoModelFactory[ProviderRoute]):
    """E-mail of one tenant by the sandbox."""

    class Meta:
        model = ProviderRoute

    tenant = SubFactory(TenantFactory)
    channel = Channel.EMAIL
    provider = "sandbox"


class OutboundMessageFactory(Factory[OutboundMessage]):
    """An e-mail; `channel=Channel.SMS` and so on give address and parts that fit."""

    class Meta:
        model = OutboundMessage

    delivery_id = LazyFunction(new_id)
    notification_id = LazyFunction(new_id)
    tenant_id = 1
    user_id = "usr_42"
    channel = Channel.EMAIL
    priority = Priority.NORMAL
    category = "transactional"
    address = LazyAttribute(lambda message: _ADDRESSES[message.channel])
    parts = LazyAttribute(lambda message: _PARTS[message.channel])
    locale = "en"
    attempt = 1
    expires_at = None
    is_test = False
    address_id = None


def recorded(
    tenant_id: int, *, channel: Channel, content: Mapping[str, Any], **ids: UUID
) -> SandboxMessage:
    """Write what the sandbox keeps of an accepted attempt; the ids are new ones
    unless given."""
    message_id = new_id()
    return SandboxMessage.objects.create(
        id=message_id,
        tenant_id=tenant_id,
        **{"notification_id": new_id(), "delivery_id": new_id(), **ids},
        channel=channel,
        attempt=1,
        outcome="accepted",
        accepted=True,
        sealed=data_keys.seal(
            tenant_id=tenant_id,
            table="sandbox_message",
            row=message_id,
            plaintext=json.dumps(content).encode(),
        ),
    )
