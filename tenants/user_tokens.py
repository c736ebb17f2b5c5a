"""Short-lived signed tokens that let an end user at their own inbox or preferences.

HS256 under settings.USER_TOKEN_SECRETS: the first secret signs, all of them verify, so
that a secret is replaced by putting the new one in front and dropping the old one when
its tokens have expired. The key id is a hash of the secret.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import GuestProtocol, OctKey

from tenants.principals import UserPrincipal
from tenants.scopes import AUDIENCE_SCOPES, Audience

ISSUER = "notifications"
ALGORITHM = "HS256"
DEFAULT_LIFETIME = timedelta(minutes=15)
LONGEST_LIFETIME = timedelta(hours=12)
SHORTEST_SECRET = 32
_LEEWAY_SECONDS = 5
_LONGEST_TOKEN = 2048
_TENANT_CLAIM = "tid"

_CLAIMS = jwt.JWTClaimsRegistry(
    leeway=_LEEWAY_SECONDS,
    iss={"essential": True, "value": ISSUER},
    aud={"essential": True, "values": [audience.value for audience in Audience]},
    sub={"essential": True, "allow_blank": False},
    exp={"essential": True},
)


class InvalidUserToken(Exception):
    """The user token is malformed, expired, or not signed by us."""


def issue_user_token(
    *,
    tenant_id: int,
    user_id: str,
    audience: Audience,
    lifetime: timedelta = DEFAULT_LIFETIME,
) -> str:
    """Sign a token for one user and one purpose that is good from now on."""
    return sign_user_token(
        tenant_id=tenant_id,
        user_id=user_id,
        audience=audience,
        expires_at=datetime.now(UTC) + min(lifetime, LONGEST_LIFETIME),
    )


def sign_user_token(
    *, tenant_id: int, user_id: str, audience: Audience, expires_at: datetime
) -> str:
    """Sign a token for one user and one purpose."""
    key_id, key = next(iter(key_ring().items()))
    claims = {
        "iss": ISSUER,
        "aud": Audience(audience).value,
        "sub": user_id,
        _TENANT_CLAIM: tenant_id,
        "exp": int(expires_at.timestamp()),
    }
    return jwt.encode({"alg": ALGORITHM, "kid": key_id}, claims, key)


def verify_user_token(token: str) -> UserPrincipal:
    """Return whose token this is; raise InvalidUserToken. Asks no database."""
    if len(token) > _LONGEST_TOKEN:
        raise InvalidUserToken
    try:
        claims = jwt.decode(token, _key_named_in, algorithms=[ALGORITHM]).claims
        _CLAIMS.validate(claims)
    except (JoseError, ValueError, TypeError) as refused:
        # TypeError: joserfc trusts the types in a header, `"crit": 5` for one.
        raise InvalidUserToken from refused
    tenant_id, audience = claims.get(_TENANT_CLAIM), claims["aud"]
    if type(tenant_id) is not int or not isinstance(audience, str):
        raise InvalidUserToken
    return UserPrincipal(
        tenant_id=tenant_id,
        user_id=claims["sub"],
        scopes=AUDIENCE_SCOPES[Audience(audience)],
    )


def check_secrets(secrets: list[str]) -> None:
    """Raise ImproperlyConfigured unless there are secrets, long enough, each once."""
    if not secrets or min(map(len, secrets)) < SHORTEST_SECRET:
        raise ImproperlyConfigured(
            f"USER_TOKEN_SECRETS must list secrets of {SHORTEST_SECRET} characters or"
            " more"
        )


def _key_named_in(token: GuestProtocol) -> OctKey:
    # From our own ring and nowhere else: a kid is a name, not a path or a URL, and
    # jku, jwk and x5u are never followed.
    key = key_ring().get(str(token.headers().get("kid")))
    if key is None:
        raise InvalidUserToken
    return key


def key_ring() -> dict[str, OctKey]:
    """Return the keys by id, the one that signs first."""
    return _read_ring(tuple(settings.USER_TOKEN_SECRETS))


@lru_cache(maxsize=4)
def _read_ring(secrets: tuple[str, ...]) -> dict[str, OctKey]:
    check_secrets(list(secrets))
    return {
        sha256(secret.encode()).hexdigest()[:16]: OctKey.import_key(secret)
        for secret in secrets
    }
