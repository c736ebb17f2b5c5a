from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import path
from rest_framework.response import Response
from rest_framework.views import APIView

from config.problem_details import handler404
from config.urls import urlpatterns as site
from tenants.authentication import ApiKeyAuthentication, UserTokenAuthentication
from tenants.models import Tenant
from tenants.permissions import HasScope, OwnUserOrScope
from tenants.process_cache import forget_everything
from tenants.scopes import Audience, Scope
from tenants.user_tokens import issue_user_token, verify_user_token
from tests.factories.tenants import TenantFactory, api_key, authorization

pytestmark = [pytest.mark.usefixtures("db"), pytest.mark.urls(__name__)]

CLIENT = Client()


class OwnThings(APIView):
    """A view like the inbox."""

    authentication_classes = [ApiKeyAuthentication, UserTokenAuthentication]
    permission_classes = [OwnUserOrScope]
    required_scope = {"GET": Scope.INBOX_READ, "POST": Scope.INBOX_WRITE}

    def get(self, request, user_id):
        return Response({"actor": request.user.actor})

    def put(self, request, user_id):
        return Response()


class Undeclared(APIView):
    """A view whose author forgot the scope."""

    authentication_classes = [ApiKeyAuthentication, UserTokenAuthentication]
    permission_classes = [HasScope]

    def get(self, request):
        return Response()


urlpatterns = [
    *site,
    path("v1/own/<str:user_id>", OwnThings.as_view()),
    path("v1/undeclared", Undeclared.as_view()),
]
__all__ = ["handler404"]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget_everything()


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


def own_things(credential: str, *, user_id: str = "usr_42", method: str = "get"):
    send = getattr(CLIENT, method)
    return send(f"/v1/own/{user_id}", headers=authorization(credential))


def token(tenant: Tenant, **changes) -> str:
    terms: dict[str, Any] = {
        "tenant_id": tenant.pk,
        "user_id": "usr_42",
        "audience": Audience.INBOX,
        "lifetime": timedelta(minutes=5),
    }
    return issue_user_token(**terms | changes)


def ask(tenant: Tenant, body: object, *, user_id: str = "usr_42"):
    return CLIENT.post(
        f"/v1/users/{user_id}/tokens",
        body,
        content_type="application/json",
        headers=authorization(api_key(tenant)),
    )


def test_service_gets_a_token_for_its_user(tenant):
    before = datetime.now(UTC)

    response = ask(tenant, {"audience": "preferences", "lifetime_seconds": 120})

    answer = response.json()
    assert response.status_code == 200
    assert answer["audience"] == "preferences"
    user = verify_user_token(answer["token"])
    assert (user.tenant_id, user.user_id) == (tenant.pk, "usr_42")
    expires_at = datetime.fromisoformat(answer["expires_at"])
    assert abs(expires_at - before - timedelta(seconds=120)) < timedelta(seconds=2)
    assert response["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"audience": "admin"}, "/audience"),
        ({"lifetime_seconds": 0}, "/lifetime_seconds"),
        ({"lifetime_seconds": 10**9}, "/lifetime_seconds"),
        ({"lifetime_seconds": "soon"}, "/lifetime_seconds"),
        ({"tenant_id": 1}, "/tenant_id"),
        ({"__proto__": {}}, "/__proto__"),
        ([], ""),
    ],
)
def test_wrong_request_names_the_field(tenant, body, pointer):
    """Bad input 13 and 14."""
    response = ask(tenant, body)

    assert response.status_code == 422
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]


@pytest.mark.parametrize("user_id", ["a b", "%00", "x" * 129, "é"])
def test_user_id_of_another_form_is_refused(tenant, user_id):
    assert ask(tenant, {}, user_id=user_id).status_code == 422


def test_user_reaches_what_is_theirs(tenant):
    response = own_things(token(tenant))

    assert response.json() == {"actor": "user:usr_42"}


def test_user_finds_nothing_of_somebody_else(tenant):
    response = own_things(token(tenant), user_id="usr_43")

    assert response.status_code == 404


def test_token_for_another_audience_gets_401(tenant):
    """Bad input 34."""
    response = own_things(token(tenant, audience=Audience.PREFERENCES))

    assert response.status_code == 401


def test_service_with_the_scope_reaches_any_user(tenant):
    assert own_things(api_key(tenant)).json() == {"actor": "service:billing"}


def test_service_without_the_scope_gets_403(tenant):
    text = api_key(tenant, scopes=[Scope.INBOX_WRITE])

    assert own_things(text).status_code == 403


def test_method_without_a_scope_is_not_allowed(tenant):
    assert own_things(api_key(tenant), method="put").status_code == 405


def test_token_of_a_suspended_tenant_gets_403(tenant):
    credential = token(tenant)
    Tenant.objects.filter(pk=tenant.pk).update(status=Tenant.Status.SUSPENDED)

    assert own_things(credential).status_code == 403


def test_token_of_a_tenant_that_is_gone_gets_401(tenant):
    assert own_things(token(tenant, tenant_id=tenant.pk + 1)).status_code == 401


def test_token_reaches_no_service_endpoint(tenant):
    response = CLIENT.post(
        "/v1/users/usr_42/tokens",
        {},
        content_type="application/json",
        headers=authorization(token(tenant)),
    )

    assert response.status_code == 401


@pytest.mark.parametrize("of_a_service", [True, False])
def test_view_that_declares_no_scope_lets_nobody_in(tenant, of_a_service):
    credential = api_key(tenant) if of_a_service else token(tenant)

    response = CLIENT.get("/v1/undeclared", headers=authorization(credential))

    assert response.status_code == 403
