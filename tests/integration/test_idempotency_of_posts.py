from __future__ import annotations

import pytest
from django.test import Client
from django.urls import path
from rest_framework.views import APIView

from config.urls import urlpatterns as site
from tenants.answers import answer, answer_once
from tenants.authentication import ApiKeyAuthentication
from tenants.models import Tenant
from tenants.permissions import HasScope
from tenants.scopes import Scope
from tests.factories.tenants import TenantFactory, api_key, authorization

pytestmark = [pytest.mark.usefixtures("db"), pytest.mark.urls(__name__)]

CLIENT = Client()


class Openings(APIView):
    """A POST that makes something."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.NOTIFICATIONS_SEND
    key_is_required = True

    def post(self, request):
        def open_one():
            made = TenantFactory.create()
            return answer(201, {"slug": made.slug})

        return answer_once(request, work=open_one, required=self.key_is_required)


urlpatterns = [
    *site,
    path("v1/openings", Openings.as_view()),
    path("v1/easy-openings", Openings.as_view(key_is_required=False)),
]


@pytest.fixture
def headers() -> dict[str, str]:
    return authorization(api_key(TenantFactory.create()))


def post(headers: dict[str, str], body: str = "{}", *, path: str = "/v1/openings"):
    return CLIENT.post(path, body, content_type="application/json", headers=headers)


def test_post_is_answered_once(headers):
    headers["Idempotency-Key"] = '"abc"'
    first = post(headers, '{"a": 1, "b": 2}')
    made = Tenant.objects.count()

    again = post(headers | {"Idempotency-Key": "abc"}, '{"b":2,"a":1.0}')

    assert first.status_code == again.status_code == 201
    assert again.content == first.content
    assert "Idempotent-Replayed" not in first.headers
    assert again["Idempotent-Replayed"] == "true"
    assert Tenant.objects.count() == made


def test_key_may_be_a_field_of_the_body(headers):
    first = post(headers, '{"idempotency_key": "abc"}')
    again = post(headers | {"Idempotency-Key": "abc"})

    assert again["Idempotent-Replayed"] == "true"
    assert again.content == first.content


@pytest.mark.parametrize(
    ("key", "body", "status", "slug"),
    [
        (None, "{}", 400, "idempotency-key-missing"),
        ("k" * 256, "{}", 400, "idempotency-key-invalid"),
        ("abc", '{"idempotency_key": "abd"}', 400, "idempotency-key-mismatch"),
        ("used", '{"a": 2}', 409, "idempotency-key-reused"),
    ],
)
def test_wrong_key_is_a_problem_of_its_own(headers, key, body, status, slug):
    post(headers | {"Idempotency-Key": "used"}, '{"a": 1}')

    response = post(headers | ({"Idempotency-Key": key} if key else {}), body)

    assert response.status_code == status
    assert response.json()["type"] == f"/problems/{slug}"


def test_post_that_may_go_without_a_key_is_done_each_time(headers):
    before = Tenant.objects.count()

    for _ in range(2):
        assert post(headers, path="/v1/easy-openings").status_code == 201

    assert Tenant.objects.count() == before + 2


def test_same_key_on_another_path_is_another_request(headers):
    headers["Idempotency-Key"] = "abc"
    post(headers)

    assert post(headers, path="/v1/easy-openings").status_code == 409
