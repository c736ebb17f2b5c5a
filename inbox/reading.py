"""Read an inbox: pages that stay put while messages arrive, and what was read when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from foundation.keyset import decode_cursor, encode_cursor
from foundation.statements import server_cursor
from inbox.content import Content, unseal_content
from inbox.models import InboxItem

# The first time stays, however often and from how many places at once it is read.
MARK_READ = """
UPDATE inbox_item SET read_at = coalesce(read_at, app_now())
 WHERE tenant_id = %s AND user_id = %s AND id = %s
RETURNING read_at
"""


class UnknownMessage(LookupError):
    """There is no such message in this inbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message in an inbox."""

    id: UUID
    content: Content
    created_at: datetime
    read_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some messages, the newest first, and how to get at the older ones."""

    messages: tuple[Message, ...]
    next_cursor: str | None
    unread_count: int


def page(*, tenant_id: int, user_id: str, cursor: str | None, limit: int) -> Page:
    """Return up to `limit` messages older than the cursor; raise BadCursor.

    Ordered by id alone: it carries the time and is unique, so that messages of one
    moment are neither skipped nor shown twice at the edge of a page.
    """
    scope = ("inbox", tenant_id, user_id)
    inbox = InboxItem.objects.filter(tenant_id=tenant_id, user_id=user_id)
    older = (
        inbox if cursor is None else inbox.filter(id__lt=decode_cursor(scope, cursor))
    )
    items = list(older.order_by("-id")[: limit + 1])
    shown = items[:limit]
    return Page(
        messages=tuple(_open(item) for item in shown),
        next_cursor=encode_cursor(scope, shown[-1].id) if len(items) > limit else None,
        unread_count=inbox.filter(read_at__isnull=True).count(),
    )


def mark_read(*, tenant_id: int, user_id: str, message_id: UUID) -> datetime:
    """Return when the message was first read, maybe now; raise UnknownMessage."""
    with server_cursor() as cursor:
        cursor.execute(MARK_READ, [tenant_id, user_id, message_id])
        row = cursor.fetchone()
    if row is None:
        raise UnknownMessage
    read_at: datetime = row[0]
    return read_at


def _open(item: InboxItem) -> Message:
    content = unseal_content(
        tenant_id=item.tenant_id, item_id=item.id, sealed=bytes(item.content)
    )
    return Message(
        id=item.id, content=content, created_at=item.created_at, read_at=item.read_at
    )
