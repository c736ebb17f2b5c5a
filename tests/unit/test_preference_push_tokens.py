from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from preferences.push_tokens import UnusableToken, check_token

POINT = (
    ec.generate_private_key(ec.SECP256R1())
    .public_key()
    .public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
)


def subscription(
    *,
    endpoint: str = "https://push.example.com/abc",
    p256dh: bytes = POINT,
    auth: bytes = b"s" * 16,
) -> str:
    def encode(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).decode().rstrip("=")

    keys = {"p256dh": encode(p256dh), "auth": encode(auth)}
    return json.dumps({"endpoint": endpoint, "expirationTime": None, "keys": keys})


@pytest.mark.parametrize(
    ("platform", "token"),
    [("fcm", "tok-AAA"), ("fcm", "d:APA91b_x"), ("apns", "0a" * 32)],
)
def test_a_token_is_kept_as_it_is(platform: str, token: str) -> None:
    assert check_token(platform, token) == token


def test_an_apns_token_is_written_in_lower_case() -> None:
    assert check_token("apns", "AB" * 32) == "ab" * 32


def test_a_subscription_is_kept_without_what_is_not_sent_with() -> None:
    kept = json.loads(check_token("webpush", subscription()))

    assert kept["endpoint"] == "https://push.example.com/abc"
    assert set(kept) == {"endpoint", "keys"}


@pytest.mark.parametrize(
    ("platform", "token"),
    [
        ("fcm", ""),
        ("fcm", "tok AAA"),
        ("fcm", "tok\nAAA"),
        ("fcm", "mã"),
        ("apns", "abc" * 21),
        ("apns", "tok-AAA"),
        ("apns", "ab"),
        ("webpush", "https://push.example.com/abc"),
        ("webpush", "[]"),
        ("webpush", "null"),
        ("webpush", "[" * 4000),
        ("webpush", "{}"),
        ("webpush", '{"endpoint": "https://x", "keys": {"p256dh": 1, "auth": 2}}'),
        ("webpush", subscription(endpoint="http://push.example.com/abc")),
        ("webpush", subscription(p256dh=b"\x04" + b"\x01" * 64)),
        ("webpush", subscription(p256dh=b"")),
        ("webpush", subscription(auth=b"short")),
    ],
)
def test_what_no_platform_hands_out_is_refused(platform: str, token: str) -> None:
    """Bad input 97, 98."""
    with pytest.raises(UnusableToken):
        check_token(platform, token)
