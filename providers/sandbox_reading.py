"""Read back what the sandbox recorded, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from foundation.keyset import decode_cursor, encode_cursor
from providers.models import SandboxMessage
from providers.sandbox_record import SandboxContent, read_content


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedMessage:
    """An attempt that the sandbox answered, opened."""

    row: SandboxMessage
    content: SandboxContent


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPage:
    """Some attempts, the newest first, and how to get at the older ones."""

    messages: tuple[RecordedMessage, ...]
    next_cursor: str | None


def page(
    *, tenant_id: int, notification_id: UUID | None, cursor: str | None, limit: int
) -> RecordedPage:
    """Return what a tenant's notifications, or one of them, came to in the sandbox."""
    scope = ("sandbox", tenant_id, str(notification_id))
    rows = SandboxMessage.objects.filter(tenant_id=tenant_id)
    if notification_id is not None:
        rows = rows.filter(notification_id=notification_id)
    if cursor is not None:
        rows = rows.filter(id__lt=decode_cursor(scope, cursor))
    found = list(rows.order_by("-id")[: limit + 1])
    shown = found[:limit]
    return RecordedPage(
        messages=tuple(
            RecordedMessage(row=row, content=read_content(row)) for row in shown
        ),
        next_cursor=encode_cursor(scope, shown[-1].id) if len(found) > limit else None,
    )
