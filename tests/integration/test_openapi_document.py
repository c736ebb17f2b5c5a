"""The document that is served, the page that shows it, and whether it is true."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from django.test import Client
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.acme import Api, submission
from tests.factories.tenants import api_key, authorization
from tests.unit.test_body_twins import ACCEPTED, changed

ALL_CHANNELS = ["email", "sms", "push", "in_app"]
USER = "/v1/users/usr_an"


@cache
def document() -> dict[str, Any]:
    served: dict[str, Any] = Client().get("/openapi.json").json()
    return served


def check(instance: object, schema: dict[str, Any]) -> None:
    """Check a value against a schema of the document."""
    whole = {**schema, "components": document()["components"]}
    validator = OAS31Validator(whole, format_checker=OAS31Validator.FORMAT_CHECKER)
    assert [error.message for error in validator.iter_errors(instance)] == []


def check_answer(answer: Any) -> None:
    """Check an answer against what its operation documents for its status."""
    path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", answer.resolver_match.route)
    operation = document()["paths"][path][answer.request["REQUEST_METHOD"].lower()]
    documented = operation["responses"]
    told = documented.get(str(answer.status_code), documented["default"])
    if answer.status_code >= 400:
        form = documented["default"]["content"]
        assert told["content"] == form, "errors have one form"
    if "content" not in told:
        assert answer.content == b""
        return
    check(answer.json(), told["content"][answer["Content-Type"]]["schema"])


def test_the_served_document_is_valid_openapi_3_1():
    assert document()["openapi"].startswith("3.1")
    assert list(OpenAPIV31SpecValidator(document()).iter_errors()) == []


# Closing a file's answer looks at the connection that an earlier test may have left.
@pytest.mark.usefixtures("db")
def test_the_page_needs_nobody_else():
    """Offline: no host but our own is asked for script, style or picture."""
    page = Client().get("/docs")
    text = page.content.decode()

    assert page.status_code == 200
    assert re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text) == []
    links = re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
    assert len(links) >= 3
    for link in links:
        assert link.startswith("/")
        found = Client().get(link)
        found.close()
        assert found.status_code == 200, link


def test_answers_are_what_the_document_says(api, consume):
    accepted = api.submit(channels=ALL_CHANNELS, reference="r", metadata={"a": "b"})
    one = f"/v1/notifications/{accepted.json()['notification_id']}"
    consume()
    message = api.get(f"{USER}/inbox").json()["items"][0]["id"]
    etag = api.get(f"{USER}/notification-preferences")["ETag"]
    device = api.post(f"{USER}/devices", {"platform": "fcm", "token": "a-second-one"})
    removed = api.client.delete(
        f"{USER}/devices/{device.json()['id']}", headers=api.headers
    )

    for answer in (
        accepted,
        api.get("/v1/notifications"),
        api.get("/v1/notifications", limit=1, status="completed", user_id="usr_an"),
        api.get(one),
        api.post(f"{one}/cancel"),
        api.post("/v1/notifications/cancel", {"reference": "r"}),
        api.post("/v1/notifications/cancel", {"reference": "nothing", "limit": 1}),
        api.get("/v1/sandbox/messages"),
        api.get(f"{USER}/inbox"),
        api.post(f"{USER}/inbox/{message}/read"),
        api.get(USER),
        api.put("/v1/users/usr_new", {"email": "new@example.com", "locale": "vi"}),
        api.put("/v1/users/usr_new", {"time_zone": "Asia/Ho_Chi_Minh"}),
        api.get(f"{USER}/devices"),
        device,
        removed,
        api.get(f"{USER}/notification-preferences"),
        api.put(
            f"{USER}/notification-preferences",
            {"opt_outs": ["sms"]},
            **{"If-Match": etag},
        ),
        api.post(f"{USER}/tokens", {}),
    ):
        check_answer(answer)


def test_an_answer_of_each_state_is_what_the_document_says(api, consume, clock):
    def person(email: str) -> dict[str, str]:
        return {"user_id": "usr_x", "email": f"{email}@simulate.example"}

    emails = ["permanent", "transient", "rate-limited", "account-fault", "timeout+0"]
    made = [api.accept(idempotency_key=e, recipient=person(e)) for e in emails]
    made.append(api.accept(idempotency_key="n", recipient={"user_id": "nobody"}))
    consume()
    made.append(api.accept(send_at=f"{clock.now().year + 1}-01-01T00:00:00Z"))

    answers = [api.get(f"/v1/notifications/{one}") for one in made]
    answers += [api.cancel(one) for one in made]
    answers += [api.get("/v1/notifications")]

    for answer in answers:
        check_answer(answer)
    assert {answer.status_code for answer in answers} == {200, 409}


def test_problems_are_what_the_document_says(api, acme):
    stranger = Api(Client(), {})
    narrow = Api(Client(), authorization(api_key(acme, scopes=["inbox:read"])))
    answers = [
        api.submit(channels=[]),
        api.submit(idempotency_key=None),
        api.post("/v1/notifications", "{"),
        api.get("/v1/notifications", status="failed"),
        api.get("/v1/notifications", cursor="x"),
        api.get("/v1/notifications/ntf_1"),
        api.put(f"{USER}/notification-preferences", {}),
        stranger.get("/v1/notifications"),
        narrow.get("/v1/notifications"),
        api.client.patch("/v1/notifications", headers=api.headers),
    ]
    documented = {"$ref": "#/components/schemas/Problem"}

    assert [answer.status_code for answer in answers] == [
        *[422, 400, 400, 422, 400, 404, 428, 401, 403, 405]
    ]
    for answer in answers:
        assert answer["Content-Type"] == "application/problem+json"
        check(answer.json(), documented)


@pytest.mark.parametrize("changes", ACCEPTED, ids=str)
def test_the_document_allows_what_the_api_takes(changes):
    operation = document()["paths"]["/v1/notifications"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]

    check(changed(changes), schema)
    check(submission(), schema)
