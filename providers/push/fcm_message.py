"""The message that FCM is given of a notification."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from foundation.ids import public_id
from providers.base import OutboundMessage
from providers.http import UnsendableMessage

LARGEST_PAYLOAD = 4096
_LONGEST_TTL = 28 * 24 * 3600
_RESERVED_KEY = re.compile(r"from|message_type|(gcm|google).*", re.DOTALL)


def write_message(message: OutboundMessage) -> dict[str, Any]:
    """Write a Message of projects.messages; raise UnsendableMessage."""
    delivery = public_id("dlv", message.delivery_id)
    payload = write_payload(message.parts, delivery=delivery)
    if payload_bytes(payload) > LARGEST_PAYLOAD:
        raise UnsendableMessage("payload_too_large")
    return {
        "token": message.address,
        **payload,
        **_platforms(delivery, expires_at=message.expires_at),
    }


def write_payload(parts: Mapping[str, str], *, delivery: str) -> dict[str, Any]:
    """Write what the limit is on; raise UnsendableMessage for data that is none."""
    notification = {name: parts[name] for name in ("title", "body") if name in parts}
    return {
        "notification": notification,
        "data": _data(parts, own={"delivery_id": delivery}),
    }


def payload_bytes(payload: Mapping[str, Any]) -> int:
    """Count a payload as its JSON.

    FCM counts keys and values. The JSON is a little more, which leaves APNs, whose
    limit is the same, room for its wrapping.
    """
    compact = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return len(compact.encode(errors="surrogatepass"))


def _platforms(delivery: str, *, expires_at: datetime | None) -> dict[str, Any]:
    # No collapse_key of Android's: a device has four of them, and a fifth waiting
    # message would push out one of another delivery.
    android: dict[str, Any] = {"notification": {"tag": delivery}}
    apns = {"apns-collapse-id": delivery}
    webpush = {"Topic": delivery}
    if expires_at is not None:
        remaining = int((expires_at - datetime.now(tz=UTC)).total_seconds())
        ttl = min(max(remaining, 0), _LONGEST_TTL)
        android["ttl"] = f"{ttl}s"
        apns["apns-expiration"] = str(int(expires_at.timestamp()))
        webpush["TTL"] = str(ttl)
    return {
        "android": android,
        "apns": {"headers": apns},
        "webpush": {"headers": webpush, "notification": {"tag": delivery}},
    }


def _data(parts: Mapping[str, str], *, own: dict[str, str]) -> dict[str, str]:
    """Make text of all values, as FCM wants them; refuse keys that would be lost."""
    if "link" in parts:
        own = {**own, "link": parts["link"]}
    try:
        given = json.loads(parts.get("data", "{}"))
        if not isinstance(given, dict):
            raise UnsendableMessage("malformed_data")
        texts = {key: _text(value) for key, value in given.items()}
    except (ValueError, RecursionError):
        raise UnsendableMessage("malformed_data") from None
    if any(key in own or _RESERVED_KEY.fullmatch(key) for key in texts):
        raise UnsendableMessage("reserved_data_key")
    return {**texts, **own}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
