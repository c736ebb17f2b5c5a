"""Adapters with bugs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inbox.adapter import InAppAdapter
from providers.base import Adapter, OutboundMessage, SendResult
from providers.channels import Channel


class BrokenAdapter(Adapter):
    """Falls over at every message."""

    channels = frozenset(Channel)

    async def send(self, message: OutboundMessage) -> SendResult:
        raise ZeroDivisionError


class MuteAdapter(Adapter):
    """Answers nothing at all."""

    channels = frozenset(Channel)

    async def send(self, message: OutboundMessage) -> SendResult:
        return None  # type: ignore[return-value]  # this is the bug


class PoisonedInbox(InAppAdapter):
    """Cannot persist the items of one user."""

    def persist(self, cursor: Any, items: Sequence[object]) -> None:
        if any("poison" in repr(item) for item in items):
            raise ZeroDivisionError
        super().persist(cursor, items)
