"""The in-app channel: a message becomes a row of the recipient's inbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from foundation.ids import new_id, public_id
from foundation.statements import Cursor
from inbox.content import Content, seal_content
from providers.base import LocalAdapter, OutboundMessage, SendResult, Verdict
from providers.channels import Channel

# The same delivery may be persisted again after a lost reply to COMMIT.
INSERT_ITEMS = """
INSERT INTO inbox_item (id, tenant_id, user_id, notification_id, delivery_id, content)
SELECT * FROM unnest(%s::uuid[], %s::bigint[], %s::text[], %s::uuid[], %s::uuid[],
                     %s::bytea[])
    ON CONFLICT (delivery_id) DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxMessage:
    """An accepted message that is not stored yet."""

    id: UUID
    tenant_id: int
    user_id: str
    notification_id: UUID
    delivery_id: UUID
    content: Content


class InAppAdapter(LocalAdapter):
    """Accepts everything; the settlement stores it."""

    channels = frozenset({Channel.IN_APP})
    # An item is stored once, whatever became of earlier attempts.
    idempotency_window = timedelta.max

    async def send(self, message: OutboundMessage) -> SendResult:
        """Make the item. It is sealed in persist: keys may have to be read first."""
        item = InboxMessage(
            id=new_id(),
            tenant_id=message.tenant_id,
            user_id=message.user_id,
            notification_id=message.notification_id,
            delivery_id=message.delivery_id,
            content=Content(
                title=message.parts.get("title", ""),
                body=message.parts.get("body", ""),
                link=message.parts.get("link", ""),
            ),
        )
        return Verdict.ACCEPTED.result(
            provider_message_id=public_id("msg", item.id), item=item
        )

    def persist(self, cursor: Cursor, items: Sequence[object]) -> None:
        """Insert the items that are not there yet, in one statement."""
        messages = [item for item in items if isinstance(item, InboxMessage)]
        cursor.execute(
            INSERT_ITEMS,
            [
                [message.id for message in messages],
                [message.tenant_id for message in messages],
                [message.user_id for message in messages],
                [message.notification_id for message in messages],
                [message.delivery_id for message in messages],
                [_seal(message) for message in messages],
            ],
        )


def _seal(message: InboxMessage) -> bytes:
    return seal_content(
        tenant_id=message.tenant_id, item_id=message.id, content=message.content
    )
