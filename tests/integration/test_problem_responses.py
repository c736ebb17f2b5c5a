from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import path
from rest_framework.exceptions import Throttled
from rest_framework.views import APIView

from config import problem_details
from config.urls import urlpatterns as site
from foundation.ids import parse_public_id
from tenants.authentication import ApiKeyAuthentication
from tenants.permissions import HasScope
from tenants.scopes import Scope
from tests.factories.tenants import TenantFactory, api_key, authorization

pytestmark = [pytest.mark.usefixtures("db"), pytest.mark.urls(__name__)]

# As a client sees it: a bug is an answer, too.
CLIENT = Client(raise_request_exception=False)
TOKENS = "/v1/users/usr_42/tokens"


class Trouble(APIView):
    """A view that goes wrong in the way that the path names."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.NOTIFICATIONS_READ

    def get(self, request, kind):
        match kind:
            case "bug":
                raise ZeroDivisionError("secret detail")
            case "id":
                parse_public_id("ntf", "dlv_secret")
            case "throttled":
                raise Throttled(wait=7)
            case "statement":
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL statement_timeout = '10ms'")
                    cursor.execute("SELECT pg_sleep(5)")


def broken(request):
    raise ZeroDivisionError("secret detail")


urlpatterns = [
    *site,
    path("v1/trouble/<str:kind>", Trouble.as_view()),
    path("v1/broken", broken),
    path("broken", broken),
]
handler400 = problem_details.handler400
handler404 = problem_details.handler404
handler500 = problem_details.handler500


@pytest.fixture
def headers() -> dict[str, str]:
    return authorization(api_key(TenantFactory.create()))


def is_problem(response, *, status: int, slug: str) -> Any:
    assert response.status_code == status
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body["type"] == f"/problems/{slug}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert body["request_id"] == response["X-Request-Id"]
    assert "secret" not in str(body)
    return body


def test_unknown_path_is_a_problem_below_v1_alone(headers):
    body = is_problem(CLIENT.get("/v1/nothing"), status=404, slug="not-found")

    assert body["instance"] == "/v1/nothing"
    assert CLIENT.get("/nothing")["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    "where",
    ["/v1/%2e%2e/admin", "/v1//users", "/v1/users/x/tokens;a=1", "/v1/%c0%ae", "/v1/"],
)
def test_crooked_path_is_not_found(headers, where):
    """Bad input 33."""
    is_problem(CLIENT.get(where, headers=headers), status=404, slug="not-found")


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete", "options", "head"])
def test_other_method_is_not_allowed(headers, method):
    """Bad input 32."""
    response = getattr(CLIENT, method)(TOKENS, headers=headers)

    assert response.status_code == 405
    assert "POST" in response["Allow"]


def test_trace_and_method_override_have_no_effect(headers):
    """Bad input 32."""
    traced = CLIENT.generic("TRACE", TOKENS, headers=headers)
    overridden = CLIENT.get(
        TOKENS, headers=headers | {"X-HTTP-Method-Override": "POST"}
    )

    assert (traced.status_code, overridden.status_code) == (405, 405)


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "application/json; charset=utf-16",
    ],
)
def test_other_body_is_unsupported(headers, content_type):
    """Bad input 12."""
    response = CLIENT.post(TOKENS, b"a=1", content_type=content_type, headers=headers)

    is_problem(response, status=415, slug="unsupported-media-type")


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        ("{", 400, "malformed-request"),
        ('{"a": 1, "a": 2}', 400, "malformed-request"),
        ("[" * 1000, 400, "malformed-request"),
        ('{"audience": "\\u0000"}', 422, "invalid-request"),
        ('{"audience": "\\ud800"}', 422, "invalid-request"),
        ('{"\\ud800": 1}', 422, "invalid-request"),
        ('"' + "x" * 300_000 + '"', 413, "body-too-large"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_unreadable_body_is_a_problem(headers, body, status, slug):
    """Bad input 8 to 11."""
    response = CLIENT.post(
        TOKENS, body, content_type="application/json", headers=headers
    )

    is_problem(response, status=status, slug=slug)


def test_body_without_its_length_is_refused(headers):
    """Django would read a chunked body as an empty one."""
    response = CLIENT.post(
        TOKENS,
        '{"audience": "preferences"}',
        content_type="application/json",
        headers=headers | {"Transfer-Encoding": "chunked"},
    )

    is_problem(response, status=411, slug="length-required")


def test_answer_is_json_alone(headers):
    response = CLIENT.post(
        TOKENS,
        {},
        content_type="application/json",
        headers=headers | {"Accept": "text/html"},
    )

    is_problem(response, status=406, slug="not-acceptable")


def test_malformed_id_is_not_found(headers):
    response = CLIENT.get("/v1/trouble/id", headers=headers)

    is_problem(response, status=404, slug="not-found")


def test_throttled_says_when_to_come_back(headers):
    response = CLIENT.get("/v1/trouble/throttled", headers=headers)

    is_problem(response, status=429, slug="too-many-requests")
    assert response["Retry-After"] == "7"


@pytest.mark.parametrize("where", ["/v1/trouble/bug", "/v1/broken"])
def test_bug_is_a_problem_without_a_trace(headers, where):
    response = CLIENT.get(where, headers=headers)

    is_problem(response, status=500, slug="internal-error")
    assert b"ZeroDivision" not in response.content


def test_bug_outside_the_api_is_a_plain_page():
    response = CLIENT.get("/broken")

    assert response.status_code == 500
    assert b"secret" not in response.content


def test_statement_that_takes_too_long_means_unavailable(headers):
    response = CLIENT.get("/v1/trouble/statement", headers=headers)

    is_problem(response, status=503, slug="unavailable")
    assert response["Retry-After"] == "2"


def test_host_that_is_not_ours_is_refused(headers):
    response = CLIENT.get("/v1/users", headers={"Host": "evil.example"})

    assert response.status_code == 400


@pytest.mark.parametrize("slug", ["not-found", "internal-error"])
def test_type_can_be_followed(slug):
    response = CLIENT.get(f"/problems/{slug}")

    assert response.json()["type"] == f"/problems/{slug}"


def test_type_that_does_not_exist_is_not_found():
    assert CLIENT.get("/problems/nonsense").status_code == 404
