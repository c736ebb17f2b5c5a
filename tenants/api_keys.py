"""Issue, recognise and revoke the API keys of services.

A key is `nk_live_` or `nk_test_`, 43 characters that hold 256 random bits, and 6 that
check them, so that a typo costs no query and secret scanners know what they see.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Collection
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import transaction
from django.db.models import Q, QuerySet

from foundation.database_clock import AppNow
from tenants.models import ApiKey, Tenant
from tenants.principals import ServicePrincipal
from tenants.process_cache import ProcessCache
from tenants.scopes import Scope
from tenants.standing import TenantSuspended

LIVE_KEYS_PER_SERVICE = 2
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_LENGTH = 43  # 62 ** 43 > 2 ** 256
_CHECKSUM_LENGTH = 6  # 62 ** 6 > 2 ** 32
_SHOWN_LENGTH = 12
# Revocation is effective within 5 s: this long at most, and a request's life.
PRINCIPAL_LIFETIME = timedelta(seconds=3)


class InvalidApiKey(Exception):
    """The API key is unknown, expired or revoked."""


class TooManyLiveKeys(Exception):
    """The service has two live keys already: revoke one first."""


class UnknownScope(ValueError):
    """There is no such scope, or none was named."""


_principals: ProcessCache[bytes, ServicePrincipal] = ProcessCache(
    size=10_000, lifetime=PRINCIPAL_LIFETIME
)


def issue_key(
    *,
    tenant: Tenant,
    service: str,
    is_test: bool,
    scopes: Collection[str],
    expires_at: datetime | None = None,
    created_by: str = "",
) -> tuple[ApiKey, str]:
    """Make a key; its text is returned this once and stored nowhere.

    At most two live keys for a tenant, service and environment: the old and the new
    one of a rotation. The tenant's row is locked, so that two calls cannot make three.
    """
    unknown = set(scopes) - set(Scope)
    if unknown or not scopes:
        raise UnknownScope(", ".join(sorted(unknown)) or "a key needs a scope")
    environment = ApiKey.Environment.TEST if is_test else ApiKey.Environment.LIVE
    text = mint_text(environment)
    with transaction.atomic():
        Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
        live = live_keys(tenant_id=tenant.pk).filter(
            service=service, environment=environment
        )
        if live.count() >= LIVE_KEYS_PER_SERVICE:
            raise TooManyLiveKeys
        key = ApiKey.objects.create(
            tenant=tenant,
            service=service,
            environment=environment,
            prefix=text[:_SHOWN_LENGTH],
            digest=_digest(text),
            scopes=sorted(scopes),
            expires_at=expires_at,
            created_by=created_by,
        )
    return key, text


def revoke_key(*, key: ApiKey) -> None:
    """End a key; every process has forgotten it within 5 s. Repeating is harmless."""
    ApiKey.objects.filter(
        tenant_id=key.tenant_id, pk=key.pk, revoked_at__isnull=True
    ).update(revoked_at=AppNow())


def live_keys(*, tenant_id: int) -> QuerySet[ApiKey]:
    """Return the keys of a tenant that are neither revoked nor expired."""
    return ApiKey.objects.filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=AppNow()),
        tenant_id=tenant_id,
        revoked_at__isnull=True,
    )


def is_api_key(text: str) -> bool:
    """Tell whether this is meant to be one of our keys."""
    return text.startswith(("nk_live_", "nk_test_"))


def verify_key(text: str) -> ServicePrincipal:
    """Return whose key this is; raise InvalidApiKey or TenantSuspended.

    Nothing is written. A known key costs no query for 3 s; a failure is not
    remembered, so that a key works from the moment it is issued.
    """
    if not _has_right_form(text):
        raise InvalidApiKey
    digest = _digest(text)
    principal = _principals.get(digest)
    if principal is None:
        principal = _find(digest)
        _principals.put(digest, principal)
    return principal


def known_principal(text: str) -> ServicePrincipal | None:
    """Return whose key this is if this process has verified it within 3 s."""
    return _principals.get(_digest(text))


def _find(digest: bytes) -> ServicePrincipal:
    # The one read that is not scoped by tenant: the key says which tenant it is.
    key = (
        ApiKey.objects.filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=AppNow()),
            digest=digest,
            revoked_at__isnull=True,
        )
        .select_related("tenant")
        .first()
    )
    if key is None:
        raise InvalidApiKey
    if key.tenant.status == Tenant.Status.SUSPENDED:
        raise TenantSuspended
    return ServicePrincipal(
        tenant_id=key.tenant_id,
        key_id=key.pk,
        service=key.service,
        scopes=frozenset(key.scopes),
        is_test=key.environment == ApiKey.Environment.TEST,
    )


def mint_text(environment: ApiKey.Environment) -> str:
    """Make the text of a new key."""
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_LENGTH))
    body = f"nk_{environment.value}_{secret}"
    return body + _checksum(body)


def _has_right_form(text: str) -> bool:
    body, checksum = text[:-_CHECKSUM_LENGTH], text[-_CHECKSUM_LENGTH:]
    return is_api_key(text) and text.isascii() and _checksum(body) == checksum


def _checksum(body: str) -> str:
    rest, letters = zlib.crc32(body.encode()), []
    for _ in range(_CHECKSUM_LENGTH):
        rest, index = divmod(rest, len(_ALPHABET))
        letters.append(_ALPHABET[index])
    return "".join(letters)


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()
