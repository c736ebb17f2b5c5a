"""An adapter with a bug."""

from __future__ import annotations

from providers.base import Adapter, OutboundMessage, SendResult
from providers.channels import Channel


class BrokenAdapter(Adapter):
    """Falls over at every message."""

    channels = frozenset(Channel)

    async def send(self, message: OutboundMessage) -> SendResult:
        raise ZeroDivisionError
