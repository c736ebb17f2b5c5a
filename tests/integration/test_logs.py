"""No secret and nothing personal is in a log line, whatever happens (I16)."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client

from foundation import failpoints
from preferences.models import Recipient
from tests.acme import Api, deliveries, provider_settings, query, submission
from tests.factories.tenants import authorization
from tests.stubs.smtp import Reply, SmtpStub

EMAIL = "canary-address@example.com"
PHONE = "+84912000111"
CANARIES = ["canary", PHONE[1:], "912000111"]
PERSON = {"user_id": "usr_canary", "email": EMAIL, "phone": PHONE}
VARIABLES = {"amount": "canary-amount", "currency": "USD", "due_date": "x"}
NO_USER_ID = "canary\n\ncanary"
PRIVATE: dict[str, Any] = {
    "idempotency_key": "canary-key",
    "recipient": PERSON,
    "variables": VARIABLES,
    "metadata": {"canary": "canary"},
    "reference": "canary-reference",
}


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that is logged from DEBUG on, as it is written."""
    root = logging.getLogger()
    stderr = root.handlers[0]
    assert isinstance(stderr, logging.StreamHandler)
    level = root.level
    stream = io.StringIO()
    written_to = stderr.setStream(stream)
    root.setLevel(logging.DEBUG)
    yield stream
    root.setLevel(level)
    stderr.setStream(written_to)


def check(text: str) -> None:
    assert text
    for line in text.splitlines():
        for canary in CANARIES:
            found = line.lower().find(canary)
            assert found < 0, line[max(found - 200, 0) : found + 50]


def test_submissions_leave_nothing_personal_in_the_log(api, log):
    fresh = {"idempotency_key": "canary-key-2"}
    stranger = Api(Client(), authorization("nk_live_canary" + "x" * 43))
    for answer, status in [
        (api.submit(**PRIVATE), 202),
        (api.submit(**PRIVATE), 202),
        (api.submit(**PRIVATE, priority="low"), 409),
        (api.submit(**fresh, variables=VARIABLES | {"canary": 1}), 422),
        (api.submit(**fresh, canary="canary"), 422),
        (api.submit(**fresh, recipient=PERSON | {"email": "canary"}), 422),
        (api.post("/v1/notifications", '{"canary": "canary'), 400),
        (stranger.submit(**PRIVATE), 401),
        (api.get("/v1/notifications", user_id="usr_canary", reference="canary"), 200),
        (api.get("/v1/notifications", canary="canary"), 422),
        (api.get("/v1/canary"), 404),
        (api.put("/v1/users/usr_canary", {"email": EMAIL, "phone": PHONE}), 201),
        (api.put("/v1/users/usr_canary", {"email": "canary"}), 422),
        (api.post("/v1/users/usr_canary/devices", {"token": "canary"}), 422),
        (api.post("/v1/users/usr_canary/tokens", {}), 200),
        (api.get("/v1/users/usr_canary/inbox", cursor="canary"), 400),
    ]:
        assert answer.status_code == status, answer.content

    check(log.getvalue())
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert all(line["request_id"] for line in lines if line["event"] == "request")


def test_a_bug_is_told_with_its_trace_and_without_the_request(api, log, monkeypatch):
    plain_api = Api(Client(raise_request_exception=False), api.headers)
    monkeypatch.setitem(failpoints._POINTS, "acceptance.before_commit", ("raise", 1))
    monkeypatch.delattr("preferences.views.people.read_recipient")

    answers = [
        plain_api.post("/v1/notifications?canary=canary", submission(**PRIVATE)),
        plain_api.get("/v1/users/usr_canary", canary="canary"),
    ]

    assert [answer.status_code for answer in answers] == [500, 500]
    assert "FailpointReached" in log.getvalue()
    assert "NameError" in log.getvalue()
    check(log.getvalue())


def test_a_row_that_the_database_refuses_is_not_quoted(db, log):
    try:
        Recipient.objects.create(tenant_id=1, user_id=NO_USER_ID)
    except IntegrityError:
        logging.getLogger("notifications").exception("it failed")

    text = log.getvalue()
    assert "CheckViolation" in text
    assert "[dropped]" in text
    assert "IntegrityError" in text
    check(text)


def test_a_consumer_leaves_nothing_personal_in_the_log(api, consumer_process, log):
    def accept(number: int, **recipient: str) -> str:
        person = PERSON | recipient
        changes = PRIVATE | {"idempotency_key": f"canary-{number}", "recipient": person}
        return str(api.accept(channels=["email", "sms", "in_app"], **changes))

    accept(1)
    for number, word in enumerate(["transient", "permanent", "timeout", "bad-message"]):
        accept(10 + number, email=f"{word}@simulate.example")

    process = consumer_process("--once", LOG_LEVEL="DEBUG")
    output, _ = process.communicate(timeout=60)

    assert process.returncode == 0, output
    check(output or "nothing")
    check(log.getvalue())


def test_what_a_mail_server_answers_about_a_person_is_not_kept(
    api, consume, log, settings
):
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "email": "smtp"}
    with SmtpStub() as stub:
        stub.queue("rcpt", Reply(f"550 5.1.1 <{EMAIL}> canary unknown"))
        smtp = {
            "BACKEND": "providers.email.smtp.SmtpAdapter",
            "OPTIONS": {
                "url": f"smtp://127.0.0.1:{stub.port}?tls=none",
                "sender": "no-reply@acme.example",
            },
        }
        with provider_settings(smtp=smtp):
            notification_id = api.accept(**PRIVATE)
            consume()

    assert deliveries(notification_id)[0]["status"] == "failed"
    check(log.getvalue())
    for table in ("audit_event", "dead_letter", "delivery"):
        for row in query(f"SELECT t::text AS text FROM {table} t"):
            check(row["text"])
