"""Cursors of keyset pages: opaque, and good only where they were handed out."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from uuid import UUID

from django.conf import settings
from django.utils.crypto import salted_hmac

_POSITION_BYTES = 16
_MAC_BYTES = 16


class BadCursor(ValueError):
    """The cursor is damaged or belongs to another list."""


def encode_cursor(scope: tuple[str | int, ...], position: UUID) -> str:
    """Write where a page ended; the scope names the list (kind, tenant, user …)."""
    sealed = position.bytes + _mac(settings.SECRET_KEY, scope, position.bytes)
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


def decode_cursor(scope: tuple[str | int, ...], cursor: str) -> UUID:
    """Read the position back; raise BadCursor unless it was written for this scope."""
    try:
        sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", True)
    except (binascii.Error, ValueError) as damaged:
        raise BadCursor from damaged
    position, mac = sealed[:_POSITION_BYTES], sealed[_POSITION_BYTES:]
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    if len(position) != _POSITION_BYTES or not any(
        hmac.compare_digest(mac, _mac(secret, scope, position)) for secret in secrets
    ):
        raise BadCursor
    return UUID(bytes=position)


def _mac(secret: str, scope: tuple[str | int, ...], position: bytes) -> bytes:
    # JSON keeps ("a", "b") and ("a,b",) apart.
    value = json.dumps(scope).encode() + position
    return salted_hmac(
        "foundation.keyset", value, secret=secret, algorithm="sha256"
    ).digest()[:_MAC_BYTES]
