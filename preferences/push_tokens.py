"""How the tokens of the push platforms look."""

from __future__ import annotations

import base64
import json
import re

from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePublicKey,
)

LONGEST_TOKEN = 4096
_FCM = re.compile(r"[\x21-\x7e]+")
_APNS = re.compile(r"(?:[0-9a-f]{2}){16,100}")
_AUTH_SECRET_BYTES = 16


class UnusableToken(ValueError):
    """The platform cannot have handed out this token."""


def check_token(platform: str, text: str) -> str:
    """Return the token in its one spelling; raise UnusableToken."""
    match platform:
        case "webpush":
            return _check_subscription(text)
        case "apns":
            usable = _APNS.fullmatch(text.lower())
        case _:
            usable = _FCM.fullmatch(text)
    if usable is None:
        raise UnusableToken(f"This is not a token of {platform}.")
    return usable[0]


def _check_subscription(text: str) -> str:
    try:
        subscription = json.loads(text)
        endpoint = subscription["endpoint"]
        p256dh, auth = (subscription["keys"][name] for name in ("p256dh", "auth"))
        EllipticCurvePublicKey.from_encoded_point(SECP256R1(), _decode(p256dh))
        secret = _decode(auth)
    except (ValueError, KeyError, TypeError, RecursionError) as malformed:
        raise UnusableToken(
            "A webpush token is the JSON text of a PushSubscription, with its keys."
        ) from malformed
    if not isinstance(endpoint, str) or not endpoint.startswith("https://"):
        raise UnusableToken("The endpoint of a subscription is an https URL.")
    if len(secret) != _AUTH_SECRET_BYTES:
        raise UnusableToken("The auth secret of a subscription has 16 bytes.")
    return json.dumps(
        {"endpoint": endpoint, "keys": {"p256dh": p256dh, "auth": auth}},
        separators=(",", ":"),
    )


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
