from __future__ import annotations

import base64
import json
import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from tenants.scopes import Audience, Scope
from tenants.user_tokens import (
    ISSUER,
    InvalidUserToken,
    issue_user_token,
    key_ring,
    verify_user_token,
)

OLD = "an old secret that is 32 characters long or more"
NEW = "a new secret that is 32 characters long or more!"


@pytest.fixture(autouse=True)
def _secrets(settings):
    settings.USER_TOKEN_SECRETS = [NEW, OLD]


def issue(**changes):
    terms: dict[str, Any] = {
        "tenant_id": 7,
        "user_id": "usr_42",
        "audience": Audience.INBOX,
        "lifetime": timedelta(minutes=5),
    }
    return issue_user_token(**terms | changes)


def signed(*, header=None, key=None, **changes):
    """Sign claims that are right but for the changes; None leaves one out."""
    kid, own = next(iter(key_ring().items()))
    claims = {
        "iss": ISSUER,
        "aud": "inbox",
        "sub": "usr_42",
        "tid": 7,
        "exp": int(time.time()) + 60,
    } | changes
    present = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(
        {"alg": "HS256", "kid": kid} | (header or {}),
        present,
        key or own,
        algorithms=["HS256", "HS512", "RS256", "none"],
    )


def encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def test_token_says_whose_it_is_and_what_it_is_for():
    user = verify_user_token(issue())

    assert (user.tenant_id, user.user_id) == (7, "usr_42")
    assert user.scopes == {Scope.INBOX_READ, Scope.INBOX_WRITE}
    assert user.actor == "user:usr_42"


def test_token_for_preferences_opens_no_inbox():
    user = verify_user_token(issue(audience=Audience.PREFERENCES))

    assert user.scopes.isdisjoint({Scope.INBOX_READ, Scope.INBOX_WRITE})


def test_token_signed_with_the_previous_secret_still_verifies(settings):
    settings.USER_TOKEN_SECRETS = [OLD]
    token = issue()

    settings.USER_TOKEN_SECRETS = [NEW, OLD]
    assert verify_user_token(token).user_id == "usr_42"

    settings.USER_TOKEN_SECRETS = [NEW]
    with pytest.raises(InvalidUserToken):
        verify_user_token(token)


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "admin"},
        {"aud": None},
        {"aud": ["inbox", "preferences"]},
        {"iss": "somebody-else"},
        {"iss": None},
        {"exp": int(time.time()) - 60},
        {"exp": None},
        {"exp": "tomorrow"},
        {"nbf": int(time.time()) + 600},
        {"sub": ""},
        {"sub": None},
        {"sub": 42},
        {"tid": None},
        {"tid": "7"},
        {"tid": True},
        {"header": {"kid": "../../etc/passwd"}},
        {"header": {"kid": "unknown"}},
        {"header": {"jku": "https://evil.example/keys", "kid": "theirs"}},
        {"header": {"alg": "HS512"}},
        {"key": OctKey.import_key("somebody else's secret of 32 characters")},
    ],
    # Not by value: times and keys would be named anew in every worker.
    ids="-".join,
)
def test_wrong_token_is_refused(changes):
    """Bad input 34."""
    with pytest.raises(InvalidUserToken):
        verify_user_token(signed(**changes))


def test_token_of_another_algorithm_is_refused():
    """Bad input 34: alg none, and an RSA signature under a key id of ours."""
    kid = next(iter(key_ring()))
    claims = encoded({"iss": ISSUER, "aud": "inbox", "sub": "u", "tid": 7, "exp": 2e9})
    unsigned = f"{encoded({'alg': 'none', 'kid': kid})}.{claims}."
    rsa = RSAKey.generate_key(2048)

    for token in (unsigned, signed(header={"alg": "RS256"}, key=rsa)):
        with pytest.raises(InvalidUserToken):
            verify_user_token(token)


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "é.é.é",
        "eyJ.eyJ.AAAA",
        "x" * 5000,
        "a.b.c.d.e",
        "\0.\0.",
    ],
)
def test_text_that_is_no_token_is_refused(token):
    with pytest.raises(InvalidUserToken):
        verify_user_token(token)


@pytest.mark.parametrize(
    "header",
    [[], 1, {"alg": []}, {"alg": 5}, {"crit": 5}, {"crit": ["x"]}, {"b64": False}],
    ids=str,
)
@pytest.mark.parametrize("claims", [{}, [], "x", {"exp": float("nan")}], ids=str)
def test_header_of_wrong_types_is_refused(header, claims):
    kid = next(iter(key_ring()))
    if isinstance(header, dict):
        header = {"alg": "HS256", "kid": kid} | header

    with pytest.raises(InvalidUserToken):
        verify_user_token(f"{encoded(header)}.{encoded(claims)}.AAAA")


def test_short_secret_is_a_configuration_fault(settings):
    settings.USER_TOKEN_SECRETS = ["too short"]

    with pytest.raises(ImproperlyConfigured):
        issue()
