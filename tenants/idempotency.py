"""One key, one effect: the first answer to a request is kept and given again.

A key belongs to its tenant and stands for the request it came with, known by a
fingerprint of what the client sent: method, path and body, the body as canonical JSON.
Order of members and white space do not matter and 1.0 is 1; strings are compared as
sent, so that an é composed and an é decomposed are two different requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from uuid import UUID

import orjson
from django.db import transaction
from psycopg.errors import LockNotAvailable

from foundation.statements import Cursor, server_cursor
from tenants.principals import Principal, ServicePrincipal

HASH_VERSION = 1
KEY_LENGTH = 255
KEEP_FOR = timedelta(days=7)

_PRINTABLE = re.compile(r"[\x20-\x7e]+")
# RFC 8941: a String is quoted and escapes only the quote and the backslash.
_QUOTED = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"')
_ESCAPE = re.compile(r'\\(["\\])')

# DO UPDATE reuses the row of an expired key; a living one matches no WHERE and
# returns nothing. Its row is locked all the same, so that the read that follows sees
# the answer of whoever held the key.
_TAKE_KEY = """
INSERT INTO idempotency_key AS held
       (tenant_id, key, fingerprint, hash_version, created_at, expires_at)
VALUES (%(tenant_id)s, %(key)s, %(fingerprint)s, %(hash_version)s,
        app_now(), app_now() + %(keep_for)s)
    ON CONFLICT (tenant_id, key) DO UPDATE
   SET fingerprint = excluded.fingerprint, hash_version = excluded.hash_version,
       resource = NULL, status_code = NULL, response = NULL,
       created_at = excluded.created_at, expires_at = excluded.expires_at
 WHERE held.expires_at <= app_now()
RETURNING 1
"""

_KEEP_ANSWER = """
UPDATE idempotency_key
   SET resource = %(resource)s, status_code = %(status_code)s, response = %(response)s
 WHERE tenant_id = %(tenant_id)s AND key = %(key)s
"""

_FIRST_ANSWER = """
SELECT fingerprint, hash_version, status_code, response, resource
  FROM idempotency_key
 WHERE tenant_id = %(tenant_id)s AND key = %(key)s AND expires_at > app_now()
"""

_FORGET_EXPIRED = """
DELETE FROM idempotency_key k
 USING (SELECT tenant_id, key
          FROM idempotency_key
         WHERE expires_at <= app_now()
         ORDER BY expires_at
         LIMIT %(limit)s
           FOR UPDATE SKIP LOCKED) old
 WHERE k.tenant_id = old.tenant_id AND k.key = old.key
"""


class MissingIdempotencyKey(Exception):
    """Send an Idempotency-Key header, so that the request can be repeated safely."""


class InvalidIdempotencyKey(Exception):
    """An idempotency key is 1 to 255 printable ASCII characters, not all spaces."""


class IdempotencyKeyMismatch(Exception):
    """The Idempotency-Key header and the field idempotency_key differ."""


class IdempotencyKeyReused(Exception):
    """This idempotency key was used with another request."""


class IdempotencyInProgress(Exception):
    """The first request with this idempotency key is still being answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotentRequest:
    """Which request this is, and for how long its answer is kept."""

    tenant_id: int
    key: str
    fingerprint: bytes
    keep_for: timedelta = KEEP_FOR


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """An answer as it went out. It is kept as it is: no personal data in it."""

    status_code: int
    body: bytes
    resource: UUID | None = None


def fingerprint(*, method: str, path: str, body: object) -> bytes:
    """Hash what the client sent; the body is decoded JSON, None where there is none.

    The key itself is left out: it may come as a header in one try and as a field in
    the next.
    """
    if isinstance(body, dict):
        body = {name: body[name] for name in body if name != "idempotency_key"}
    canonical = orjson.dumps(
        [method, path, _canonical(body)], option=orjson.OPT_SORT_KEYS
    )
    return sha256(canonical).digest()


def _canonical(value: object) -> object:
    if isinstance(value, str):  # first: most of a body is text
        return value
    match value:
        case dict():
            return {name: _canonical(member) for name, member in value.items()}
        case list() | tuple():
            return [_canonical(item) for item in value]
        case float() if value.is_integer() and abs(value) < 2**63:
            return int(value)
        case int() if abs(value) >= 2**63:
            return str(value)  # more than orjson writes
    return value


def read_key(*, header: str | None, body_value: object = None) -> str:
    """Return the key from the header, the body's field, or both if they are equal."""
    if header is None and body_value is None:
        raise MissingIdempotencyKey
    from_header = None if header is None else _unquote(header)
    for key in (from_header, body_value):
        if key is not None and not _is_key(key):
            raise InvalidIdempotencyKey
    if from_header is not None and body_value is not None and from_header != body_value:
        raise IdempotencyKeyMismatch
    return str(body_value if from_header is None else from_header)


def key_of(principal: Principal, key: str) -> str:
    """Return the name that a caller's key is kept under.

    A tenant's services share their keys. An end user must not be able to use up a
    service's key, nor a test key make a live request look repeated: theirs are hashed
    together with who they are.
    """
    if isinstance(principal, ServicePrincipal):
        if not principal.is_test:
            return key
        owner = "test"
    else:
        owner = principal.actor
    return f"{owner[:4]}:{sha256(f'{owner}|{key}'.encode()).hexdigest()}"


def _unquote(header: str) -> str:
    if not header.startswith('"'):
        return header
    quoted = _QUOTED.fullmatch(header)
    if quoted is None:
        raise InvalidIdempotencyKey
    return _ESCAPE.sub(r"\1", quoted[1])


def _is_key(key: object) -> bool:
    return (
        isinstance(key, str)
        and len(key) <= KEY_LENGTH
        and _PRINTABLE.fullmatch(key) is not None
        and not key.isspace()
    )


def run_once(
    *, request: IdempotentRequest, work: Callable[[], StoredResponse]
) -> tuple[StoredResponse, bool]:
    """Do the work and keep its answer, or return the first answer and True.

    One transaction: an error of the work undoes it, stores nothing, and the key is
    free again. Raises IdempotencyKeyReused or IdempotencyInProgress.
    """
    with transaction.atomic(durable=True), server_cursor() as cursor:
        if not _take_key(cursor, request):
            answer = read_first_answer(
                cursor,
                tenant_id=request.tenant_id,
                key=request.key,
                fingerprint=request.fingerprint,
            )
            return answer, True
        answer = work()
        cursor.execute(
            _KEEP_ANSWER,
            {
                "tenant_id": request.tenant_id,
                "key": request.key,
                "resource": answer.resource,
                "status_code": answer.status_code,
                "response": answer.body,
            },
        )
    return answer, False


def _take_key(cursor: Cursor, request: IdempotentRequest) -> bool:
    parameters = {
        "tenant_id": request.tenant_id,
        "key": request.key,
        "fingerprint": request.fingerprint,
        "hash_version": HASH_VERSION,
        "keep_for": request.keep_for,
    }
    try:
        cursor.execute(_TAKE_KEY, parameters)
    except LockNotAvailable as waited:
        raise IdempotencyInProgress from waited
    return cursor.rowcount == 1


def read_first_answer(
    cursor: Cursor, *, tenant_id: int, key: str, fingerprint: bytes
) -> StoredResponse:
    """Return what the key's first request was answered.

    A statement of its own, after the one that did not insert: in the same statement
    the snapshot is older than the row it waited for, and there is nothing to see.
    """
    cursor.execute(_FIRST_ANSWER, {"tenant_id": tenant_id, "key": key})
    row = cursor.fetchone()
    if row is None or row[2] is None:  # gone or expired since
        raise IdempotencyInProgress
    # A fingerprint of another version cannot be compared: the key has the last word.
    if row[1] == HASH_VERSION and row[0] != fingerprint:
        raise IdempotencyKeyReused
    return StoredResponse(status_code=row[2], body=row[3], resource=row[4])


def forget_expired(limit: int) -> int:
    """Delete at most this many expired keys; return how many there were."""
    with server_cursor() as cursor:
        cursor.execute(_FORGET_EXPIRED, {"limit": limit})
        return cursor.rowcount
