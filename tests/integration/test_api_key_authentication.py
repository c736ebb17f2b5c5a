from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from tenants.api_keys import (
    PRINCIPAL_LIFETIME,
    TooManyLiveKeys,
    UnknownScope,
    issue_key,
    mint_text,
    revoke_key,
    verify_key,
)
from tenants.failed_attempts import ALLOWED
from tenants.models import ApiKey, Tenant
from tenants.process_cache import forget_everything
from tenants.scopes import Scope
from tests.factories.tenants import TenantFactory, api_key, authorization

pytestmark = pytest.mark.usefixtures("db")

PATH = "/v1/users/usr_42/tokens"
CLIENT = Client()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget_everything()


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


def post(credential: str | None = None, **headers: str):
    known = authorization(credential) if credential is not None else {}
    return CLIENT.post(
        PATH, "{}", content_type="application/json", headers=known | headers
    )


def issue(tenant: Tenant, **changes) -> tuple[ApiKey, str]:
    terms: dict[str, Any] = {
        "service": "billing",
        "is_test": False,
        "scopes": [Scope.TOKENS_ISSUE],
    }
    return issue_key(tenant=tenant, **terms | changes)


def test_key_lets_its_service_in(tenant):
    _, text = issue(tenant)

    assert post(text).status_code == 200
    principal = verify_key(text)
    assert principal.tenant_id == tenant.pk
    assert principal.actor == "service:billing"
    assert not principal.is_test


def test_key_is_stored_as_its_hash_alone(tenant):
    key, text = issue(tenant)

    key.refresh_from_db()
    assert text not in str(vars(key))
    assert text.startswith(key.prefix)
    assert len(key.prefix) == 12


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Basic dXNlcjpwYXNz",
        "Bearer",
        "Bearer ",
        "Bearer  two-spaces",
        "Bearer a b",
        "Bearer nk_live_unknown",
        "Bearer not.a.token",
        "Bearer " + "é" * 20,
    ],
)
def test_missing_or_malformed_credential_gets_401(tenant, header):
    response = post(**{} if header is None else {"Authorization": header})

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="notifications"'
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["type"] == "/problems/unauthenticated"


def test_unknown_expired_and_revoked_keys_get_the_same_401(tenant, clock):
    revoked, revoked_text = issue(tenant, service="revoked")
    revoke_key(key=revoked)
    expires_at = clock.now() + timedelta(hours=1)
    _, expired_text = issue(tenant, service="expired", expires_at=expires_at)
    clock.advance(timedelta(hours=1))

    problems = [
        post(text).json()
        for text in (mint_text(ApiKey.Environment.LIVE), revoked_text, expired_text)
    ]

    assert {problem["status"] for problem in problems} == {401}
    assert len({problem["detail"] for problem in problems}) == 1


def test_key_works_until_it_expires(tenant, clock):
    _, text = issue(tenant, expires_at=clock.now() + timedelta(hours=1))

    clock.advance(timedelta(minutes=59))

    assert post(text).status_code == 200


def test_revoked_key_is_refused_once_the_cached_principal_is_gone(tenant):
    """Bad input 35: that is after 3 s, as test_tenant_process_cache.py shows."""
    assert timedelta(seconds=5) > PRINCIPAL_LIFETIME
    key, text = issue(tenant)
    assert post(text).status_code == 200

    revoke_key(key=key)
    forget_everything()

    assert post(text).status_code == 401


def test_key_of_a_suspended_tenant_gets_403(tenant):
    """Bad input 35."""
    _, text = issue(tenant)
    Tenant.objects.filter(pk=tenant.pk).update(status=Tenant.Status.SUSPENDED)

    response = post(text)

    assert response.status_code == 403
    assert response.json()["type"] == "/problems/tenant-suspended"


def test_key_without_the_scope_gets_403(tenant):
    text = api_key(tenant, scopes=[Scope.INBOX_READ])

    response = post(text)

    assert response.status_code == 403
    assert response.json()["type"] == "/problems/forbidden"


def test_known_key_costs_no_query(tenant, django_assert_num_queries):
    text = api_key(tenant)
    post(text)

    with django_assert_num_queries(0):
        post(text)


def test_rotation_has_two_live_keys_and_no_third(tenant, clock):
    old, _ = issue(tenant)
    issue(tenant)

    with pytest.raises(TooManyLiveKeys):
        issue(tenant)
    issue(tenant, is_test=True)
    issue(tenant, service="auth")

    revoke_key(key=old)
    issue(tenant)


def test_expired_key_leaves_room_for_another(tenant, clock):
    for _ in range(2):
        issue(tenant, expires_at=clock.now() + timedelta(minutes=1))

    clock.advance(timedelta(minutes=2))

    issue(tenant)


@pytest.mark.parametrize("scopes", [[], ["everything"], [Scope.INBOX_READ, "admin"]])
def test_key_has_known_scopes_and_at_least_one(tenant, scopes):
    with pytest.raises(UnknownScope):
        issue(tenant, scopes=scopes)


def test_revoking_twice_keeps_the_first_moment(tenant, clock):
    key, _ = issue(tenant)
    revoke_key(key=key)
    key.refresh_from_db()
    first = key.revoked_at

    clock.advance(timedelta(hours=1))
    revoke_key(key=key)

    key.refresh_from_db()
    assert key.revoked_at == first


def test_failed_attempts_are_throttled_and_the_right_key_is_not(tenant):
    text = api_key(tenant)

    for _ in range(ALLOWED):
        assert post("nk_live_wrong").status_code == 401
    throttled = post("nk_live_wrong")

    assert throttled.status_code == 429
    assert throttled["Retry-After"] == "60"
    assert throttled.json()["type"] == "/problems/too-many-failed-attempts"
    assert post(text).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"environment": "beta"},
        {"service": "Billing Service"},
        {"scopes": []},
        {"digest": b"short"},
    ],
    ids=str,
)
def test_database_refuses_a_key_that_breaks_a_rule(tenant, wrong):
    right = {
        "tenant": tenant,
        "environment": "live",
        "service": "billing",
        "scopes": ["inbox:read"],
        "digest": b"d" * 32,
        "prefix": "nk_live_abcd",
    }

    with pytest.raises(IntegrityError), transaction.atomic():
        ApiKey.objects.create(**right | wrong)
