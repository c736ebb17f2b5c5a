"""Seal and index a tenant's personal data with keys of its own.

Data keys lie in the database, each sealed under a master key of settings.SEALING_KEYS.
A process keeps the ones it used: sealing a batch for a tenant costs at most one query.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from foundation import sealing
from foundation.sealing import SealBroken, SealingKey
from tenants.models import TenantKey
from tenants.process_cache import ProcessCache

_CACHED_KEYS = 10_000
# A new sealing key is used, everywhere, this long after it was made.
_NEWEST_KEY_LIFETIME = timedelta(minutes=5)


class TenantKeyMissing(LookupError):
    """The tenant has no key for this purpose."""


@dataclass(frozen=True, slots=True)
class _TenantDataKey:
    tenant_id: int
    key: SealingKey


_newest: ProcessCache[tuple[int, str], SealingKey] = ProcessCache(
    size=_CACHED_KEYS, lifetime=_NEWEST_KEY_LIFETIME
)
_by_id: ProcessCache[int, _TenantDataKey] = ProcessCache(
    size=_CACHED_KEYS, lifetime=timedelta(hours=1)
)


def seal(*, tenant_id: int, table: str, row: UUID, plaintext: bytes) -> bytes:
    """Encrypt under the tenant's newest sealing key, bound to this place."""
    key = _newest_key(tenant_id, TenantKey.Purpose.SEAL)
    return sealing.seal(key, plaintext, associated=_place(tenant_id, table, row))


def unseal(*, tenant_id: int, table: str, row: UUID, sealed: bytes) -> bytes:
    """Decrypt; raise SealBroken unless tenant, place, key and every byte are right."""
    key = _key_by_id(tenant_id, sealing.sealing_key_id(sealed))
    return sealing.unseal(key, sealed, associated=_place(tenant_id, table, row))


def blind_index(*, tenant_id: int, purpose: str, value: str) -> bytes:
    """Hash a value under the tenant's index key, to find it without storing it."""
    key = _newest_key(tenant_id, TenantKey.Purpose.INDEX)
    return sealing.keyed_hash(key.secret, purpose=purpose, value=value)


def wrap_new_secret(*, tenant_id: int, purpose: str) -> bytes:
    """Make a data key; return it sealed under the first master key."""
    first = parse_sealing_keys(settings.SEALING_KEYS)[0]
    return sealing.seal(
        first, sealing.new_secret(), associated=_wrapping_place(tenant_id, purpose)
    )


def parse_sealing_keys(entries: list[str]) -> list[SealingKey]:
    """Read "id:base64" entries; raise ImproperlyConfigured, never quoting a secret."""
    keys = [_parse_sealing_key(entry) for entry in entries]
    if not keys:
        raise ImproperlyConfigured("SEALING_KEYS names no key")
    if len({key.key_id for key in keys}) != len(keys):
        raise ImproperlyConfigured("SEALING_KEYS uses an id twice")
    return keys


def _parse_sealing_key(entry: str) -> SealingKey:
    key_id, _, encoded = entry.partition(":")
    try:
        secret = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        secret = b""
    if not key_id.isdecimal() or len(secret) != sealing.KEY_BYTES:
        raise ImproperlyConfigured(
            "SEALING_KEYS must list id:key, the key being 32 bytes in base64"
        )
    return SealingKey(int(key_id), secret)


def _newest_key(tenant_id: int, purpose: TenantKey.Purpose) -> SealingKey:
    cached = _newest.get((tenant_id, purpose.value))
    if cached is not None:
        return cached
    row = (
        TenantKey.objects.filter(tenant_id=tenant_id, purpose=purpose)
        .order_by("-id")
        .first()
    )
    if row is None:
        raise TenantKeyMissing(f"tenant {tenant_id} has no {purpose} key")
    key = _unwrap(row)
    _newest.put((tenant_id, purpose.value), key)
    return key


def _key_by_id(tenant_id: int, key_id: int) -> SealingKey:
    cached = _by_id.get(key_id)
    if cached is None:
        row = TenantKey.objects.filter(
            tenant_id=tenant_id, id=key_id, purpose=TenantKey.Purpose.SEAL
        ).first()
        if row is None:
            raise SealBroken("sealed with a key that this tenant does not have")
        cached = _TenantDataKey(tenant_id, _unwrap(row))
        _by_id.put(key_id, cached)
    if cached.tenant_id != tenant_id:
        raise SealBroken("sealed with another tenant's key")
    return cached.key


def _unwrap(row: TenantKey) -> SealingKey:
    wrapped = bytes(row.wrapped)
    master_id = sealing.sealing_key_id(wrapped)
    for master in parse_sealing_keys(settings.SEALING_KEYS):
        if master.key_id == master_id:
            place = _wrapping_place(row.tenant_id, row.purpose)
            return SealingKey(row.pk, sealing.unseal(master, wrapped, associated=place))
    raise ImproperlyConfigured(f"SEALING_KEYS has no key {master_id}, which is in use")


def _place(tenant_id: int, table: str, row: UUID) -> str:
    return f"{tenant_id}|{table}|{row}"


def _wrapping_place(tenant_id: int, purpose: str) -> str:
    return f"{tenant_id}|tenant_key|{purpose}"
