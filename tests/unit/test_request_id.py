from __future__ import annotations

import re

import pytest
import structlog
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import path

from config.observability import RequestIdMiddleware, drop_secrets

CLIENT = Client()


def hello(request, user_id):
    structlog.get_logger("view").info("said hello")
    return HttpResponse(request.headers["X-Request-Id"])


urlpatterns = [path("v1/hello/<str:user_id>", hello)]
pytestmark = pytest.mark.urls(__name__)


def get(request_id: str | None = None, *, path: str = "/v1/hello/usr_42?q=secret"):
    headers = {} if request_id is None else {"X-Request-Id": request_id}
    return CLIENT.get(path, headers=headers)


@pytest.mark.parametrize("sent", ["a", "req_01-AZ", "x" * 64])
def test_plain_request_id_is_kept(sent):
    response = get(sent)

    assert response["X-Request-Id"] == sent
    assert response.content.decode() == sent


@pytest.mark.parametrize(
    "sent",
    [None, "", "a b", "a\r\nSet-Cookie: x=1", "x" * 65, "x" * 10_000, "\x1b[31m", "é"],
    ids=ascii,
)
def test_any_other_request_id_is_replaced(sent):
    """Bad input 31."""
    response = get(sent)

    assert re.fullmatch(r"[0-9a-f]{32}", response["X-Request-Id"])
    assert response.content.decode() == response["X-Request-Id"]


def test_every_response_has_an_id_of_its_own():
    assert get(path="/v1/nothing-here")["X-Request-Id"] != get()["X-Request-Id"]


def test_request_is_logged_once_without_path_ids_or_query():
    """I16; bad input 31: the raw value of a bad id is not logged either."""
    with structlog.testing.capture_logs(
        processors=[structlog.contextvars.merge_contextvars]
    ) as lines:
        response = get("\x1b[31mred")

    request_line = lines[-1]
    assert request_line["event"] == "request"
    assert request_line["method"] == "GET"
    assert request_line["route"] == "v1/hello/<str:user_id>"
    assert request_line["status"] == 200
    assert request_line["ms"] >= 0
    assert {line["request_id"] for line in lines} == {response["X-Request-Id"]}
    assert not re.search(r"usr_42|secret|red", str(lines))


def test_unknown_path_is_logged_without_the_path():
    with structlog.testing.capture_logs() as lines:
        get(path="/v1/somebody@example.org")

    assert lines[-1]["route"] == "unmatched"
    assert "somebody" not in str(lines)


def test_probes_are_not_logged():
    middleware = RequestIdMiddleware(lambda request: HttpResponse())

    with structlog.testing.capture_logs() as lines:
        response = middleware(RequestFactory().get("/livez"))

    assert lines == []
    assert response["X-Request-Id"]


def test_context_of_one_request_does_not_reach_the_next():
    def bind(request):
        if request.path == "/first":
            structlog.contextvars.bind_contextvars(tenant_id=7)
        seen.append(structlog.contextvars.get_contextvars())
        return HttpResponse()

    seen: list[dict[str, object]] = []
    middleware = RequestIdMiddleware(bind)
    for where in ("/first", "/second"):
        middleware(RequestFactory().get(where))

    assert seen[0]["tenant_id"] == 7
    assert "tenant_id" not in seen[1]


def test_secret_fields_are_dropped_from_any_log_line():
    """I16."""
    event = drop_secrets(None, "info", {"event": "x", "token": "t", "email": "a@b"})

    assert event == {"event": "x", "token": "[dropped]", "email": "[dropped]"}
