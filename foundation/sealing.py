"""Seal personal data: AES-256-GCM in an envelope that names its key.

Layout: version (1 byte) | key id (8 bytes, big endian) | nonce (12) | ciphertext.
The associated data binds a ciphertext to its place, so that a value copied to
another row, table or tenant does not open.
"""

from __future__ import annotations

import hmac
import os
import struct
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_HEADER = struct.Struct(">BQ")
_VERSION = 1
_NONCE_BYTES = 12


class SealBroken(Exception):
    """The sealed value was altered, moved, or sealed with another key."""


@dataclass(frozen=True, slots=True)
class SealingKey:
    """A 256-bit key and the id that envelopes name it by."""

    key_id: int
    secret: bytes = field(repr=False)


def new_secret() -> bytes:
    """Make 256 random bits."""
    return os.urandom(KEY_BYTES)


@lru_cache(maxsize=4096)
def _cipher(secret: bytes) -> AESGCM:
    # Its key schedule costs more than a short message.
    return AESGCM(secret)


def seal(key: SealingKey, plaintext: bytes, *, associated: str) -> bytes:
    """Encrypt under a fresh nonce, bound to the associated place."""
    nonce = os.urandom(_NONCE_BYTES)
    header = _HEADER.pack(_VERSION, key.key_id)
    body = _cipher(key.secret).encrypt(nonce, plaintext, header + associated.encode())
    return header + nonce + body


def sealing_key_id(sealed: bytes) -> int:
    """Read which key opens an envelope; raise SealBroken if it is no envelope."""
    if len(sealed) < _HEADER.size + _NONCE_BYTES or sealed[0] != _VERSION:
        raise SealBroken("not a sealed value")
    key_id: int = _HEADER.unpack_from(sealed)[1]
    return key_id


def unseal(key: SealingKey, sealed: bytes, *, associated: str) -> bytes:
    """Decrypt; raise SealBroken unless key, place and every byte are the same."""
    header, rest = sealed[: _HEADER.size], sealed[_HEADER.size :]
    nonce, body = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
    try:
        return _cipher(key.secret).decrypt(nonce, body, header + associated.encode())
    except InvalidTag as broken:
        raise SealBroken("wrong key, wrong place or altered value") from broken


def keyed_hash(secret: bytes, *, purpose: str, value: str) -> bytes:
    """Hash a value so that it can be looked up but not guessed without the key."""
    return hmac.digest(secret, f"{purpose}|{value}".encode(), sha256)[:16]
