"""The personal part of an inbox message, sealed as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

import orjson

from tenants.data_keys import seal, unseal

_TABLE = "inbox_item"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a person reads."""

    title: str = field(repr=False)
    body: str = field(repr=False)
    link: str = field(default="", repr=False)


def seal_content(*, tenant_id: int, item_id: UUID, content: Content) -> bytes:
    """Encrypt for one inbox item."""
    plaintext = orjson.dumps(
        {"title": content.title, "body": content.body, "link": content.link}
    )
    return seal(tenant_id=tenant_id, table=_TABLE, row=item_id, plaintext=plaintext)


def unseal_content(*, tenant_id: int, item_id: UUID, sealed: bytes) -> Content:
    """Decrypt what was sealed for this item."""
    plaintext = unseal(tenant_id=tenant_id, table=_TABLE, row=item_id, sealed=sealed)
    return Content(**orjson.loads(plaintext))
