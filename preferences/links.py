"""Links that let a person out without a login: sealed, each for one purpose.

A token holds the tenant in the clear and the rest sealed under the tenant's own key, so
that it tells nobody who it is for, cannot be forged or turned to another person, tenant
or purpose, and still opens after master keys have been replaced and the notification's
partition is long gone.
"""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.urls import reverse

from foundation.sealing import SealBroken
from providers.channels import Channel
from tenants.data_keys import TenantKeyMissing, seal, unseal

SHORT_LIFE = timedelta(hours=1)
LONGEST_LIFE = timedelta(days=30)

_TENANT = struct.Struct(">Q")
_LONGEST_TOKEN = 1_000
# Links lie in no row; the purpose alone is their place.
_NO_ROW = UUID(int=0)
_UNSUBSCRIBE = "unsubscribe_link"
_PREFERENCES = "preference_link"


class BrokenLink(Exception):
    """The link is not one of ours, was altered, or has expired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """What a link lets a person out of: one category on one channel. It never expires;
    the delivery says which message it came with."""

    tenant_id: int
    user_id: str
    category: str
    channel: Channel
    delivery_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Whose preferences a link opens, and for how long."""

    tenant_id: int
    user_id: str
    expires_at: datetime


def unsubscribe_url(way_out: WayOut) -> str:
    """Return the link of a message; "" where PUBLIC_URL is not set."""
    if not settings.PUBLIC_URL:
        return ""
    token = _write(
        way_out.tenant_id,
        _UNSUBSCRIBE,
        [
            way_out.user_id,
            way_out.category,
            way_out.channel.value,
            way_out.delivery_id.hex,
        ],
    )
    return settings.PUBLIC_URL + reverse("unsubscribe", args=(token,))


def read_way_out(token: str) -> WayOut:
    """Open the token of an unsubscribe link; raise BrokenLink."""
    tenant_id, (user_id, category, channel, delivery) = _read(token, _UNSUBSCRIBE)
    return WayOut(
        tenant_id=tenant_id,
        user_id=user_id,
        category=category,
        channel=Channel(channel),
        delivery_id=UUID(hex=delivery),
    )


def preference_path(*, tenant_id: int, user_id: str, expires_at: datetime) -> str:
    """Return the path of the page that shows and changes a person's preferences."""
    content = [user_id, int(expires_at.timestamp())]
    return reverse(
        "preference-centre", args=(_write(tenant_id, _PREFERENCES, content),)
    )


def read_visit(token: str, *, now: datetime) -> Visit:
    """Open the token of a preference centre's link; raise BrokenLink."""
    tenant_id, (user_id, expires) = _read(token, _PREFERENCES)
    expires_at = datetime.fromtimestamp(expires, UTC)
    if expires_at <= now:
        raise BrokenLink
    return Visit(tenant_id=tenant_id, user_id=user_id, expires_at=expires_at)


def _write(tenant_id: int, purpose: str, content: list[object]) -> str:
    sealed = seal(
        tenant_id=tenant_id,
        table=purpose,
        row=_NO_ROW,
        plaintext=orjson.dumps(content),
    )
    token = base64.urlsafe_b64encode(_TENANT.pack(tenant_id) + sealed)
    return token.rstrip(b"=").decode()


def _decode(token: str) -> bytes:
    """Decode the one spelling that there is of these bytes; raise BrokenLink."""
    decoded = base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True)
    if base64.urlsafe_b64encode(decoded).rstrip(b"=") != token.encode():
        raise BrokenLink
    return decoded


def _read(token: str, purpose: str) -> tuple[int, list[Any]]:
    try:
        if len(token) > _LONGEST_TOKEN:
            raise BrokenLink
        decoded = _decode(token)
        (tenant_id,) = _TENANT.unpack_from(decoded)
        content = unseal(
            tenant_id=tenant_id,
            table=purpose,
            row=_NO_ROW,
            sealed=decoded[_TENANT.size :],
        )
    except (ValueError, struct.error, SealBroken, TenantKeyMissing) as broken:
        raise BrokenLink from broken
    return tenant_id, orjson.loads(content)
