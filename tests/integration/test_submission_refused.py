"""What cannot be accepted is a 4xx that names the field, and leaves nothing behind."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from foundation.database_clock import database_now
from notifications.management.sample import load_tenant
from providers.channels import Channel
from templates.publishing import retire
from tenants.models import Tenant
from tests.acme import Api, query, submission
from tests.emptying import KEPT, TABLES
from tests.factories.templates import ApprovedVersionFactory, DraftFactory
from tests.factories.tenants import TenantFactory, api_key, authorization
from tests.unit.test_body_twins import REFUSED, changed

SUBMIT = "/v1/notifications"
VARIABLES = submission()["variables"]
WHOLE = json.dumps(submission())


@pytest.fixture
def tenant(db) -> Tenant:
    return load_tenant()[0]


@pytest.fixture
def api(tenant) -> Api:
    """As a client sees it: a bug is an answer, too."""
    client = Client(raise_request_exception=False)
    return Api(client, authorization(api_key(tenant)))


def row_counts() -> dict[str, int]:
    """Count the rows of every table."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES, [KEPT])
        tables = [row[0] for row in cursor.fetchall()]
    counting = " UNION ALL ".join(
        f"SELECT '{table}' AS name, count(*) AS n FROM {table}" for table in tables
    )
    return {row["name"]: row["n"] for row in query(counting)}


def check_problem(answer: Any, *, status: int, slug: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.content[:300]
    assert answer["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["type"] == f"/problems/{slug}"
    assert problem["request_id"] == answer["X-Request-Id"]
    return problem


def check_field(answer: Any, pointer: str) -> None:
    problem = check_problem(answer, status=422, slug="invalid-request")
    assert pointer in [error["pointer"] for error in problem["errors"]]


def test_every_malformed_member_is_named(api, subtests):
    """Bad input 13 to 18"""
    before = row_counts()
    for changes, pointer in REFUSED:
        with subtests.test(msg=str(changes)[:80]):
            body = changed({**submission(), **changes})

            check_field(api.post(SUBMIT, body), pointer)
            assert row_counts() == before


LATER_YEARS = [
    "2099-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59",
]
LONG_AGO = ["2001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59"]
DOMAIN: list[tuple[dict[str, Any], str]] = [
    ({"headers": {"Bcc": "x@y.example"}}, "/headers"),  # 48
    ({"template": {"name": "no_such"}}, "/template/name"),
    ({"template": {"name": "no_such", "version": 1}}, "/template/name"),
    ({"template": {"name": "invoice_due", "version": 2}}, "/template/version"),
    ({"template": {"name": "draft"}}, "/template/version"),
    ({"template": {"name": "draft", "version": 1}}, "/template/version"),
    ({"template": {"name": "retired"}}, "/template/version"),
    ({"template": {"name": "retired", "version": 1}}, "/template/version"),
    ({"channels": ["email", "fax"]}, "/channels/1"),
    ({"variables": {}}, "/variables/amount"),
    ({"variables": {**VARIABLES, "foo": 1}}, "/variables/foo"),
    ({"variables": {**VARIABLES, "a/b": "~"}}, "/variables/a~1b"),
    ({"variables": {**VARIABLES, "amount": 125}}, "/variables/amount"),
    ({"variables": {**VARIABLES, "amount": None}}, "/variables/amount"),
    ({"variables": {**VARIABLES, "amount": ["125"]}}, "/variables/amount"),
    ({"variables": {**VARIABLES, "currency": "<b>USD</b>"}}, "/variables/currency"),
    ({"variables": {**VARIABLES, "currency": "bit.ly/x"}}, "/variables/currency"),
    ({"variables": {**VARIABLES, "currency": "a@evil.com"}}, "/variables/currency"),
    ({"recipient": {"user_id": "u", "email": ""}}, "/recipient/email"),
    ({"recipient": {"user_id": "u", "email": "plain"}}, "/recipient/email"),
    ({"recipient": {"user_id": "u", "email": "a@b.co, c@d.co"}}, "/recipient/email"),
    ({"recipient": {"user_id": "u", "email": "An <a@b.co>"}}, "/recipient/email"),
    (
        {"recipient": {"user_id": "u", "email": "a@b.co\nBcc: x@y.co"}},
        "/recipient/email",
    ),
    ({"recipient": {"user_id": "u", "phone": ""}}, "/recipient/phone"),
    ({"recipient": {"user_id": "u", "phone": "0912-345-67"}}, "/recipient/phone"),
    ({"recipient": {"user_id": "u", "phone": "1-800-FLOWERS"}}, "/recipient/phone"),
    ({"recipient": {"user_id": "u", "phone": "113"}}, "/recipient/phone"),
    ({"recipient": {"user_id": "u", "phone": "+1 900 555 0123"}}, "/recipient/phone"),
    ({"recipient": {"user_id": "u", "locale": "../../x"}}, "/recipient/locale"),
    ({"recipient": {"user_id": "u", "locale": " vi"}}, "/recipient/locale"),
    *(({"send_at": moment}, "/send_at") for moment in LATER_YEARS + LONG_AGO),
    *(({"expires_at": moment}, "/expires_at") for moment in LATER_YEARS + LONG_AGO),
]


def test_every_member_that_means_nothing_here_is_named(api, tenant, subtests):
    """Bad input 15 to 18, 37, 38, 54; O-TIM-2"""
    DraftFactory.create(template__tenant=tenant, template__name="draft")
    retired = ApprovedVersionFactory.create(
        template__tenant=tenant, template__name="retired"
    )
    retire(version=retired, actor="test")
    before = row_counts()
    for changes, pointer in DOMAIN:
        with subtests.test(msg=str(changes)[:80]):
            check_field(api.submit(**changes), pointer)
            assert row_counts() == before


def test_a_template_of_another_tenant_is_answered_like_none(api):
    """Bad input 16"""
    ApprovedVersionFactory.create(
        template__tenant=TenantFactory.create(), template__name="of_another"
    )
    answers = [
        api.submit(template={"name": name, "version": version}).json()
        for name in ("of_another", "no_such")
        for version in (1, 2, None)
    ]

    assert {json.dumps(answer["errors"]) for answer in answers} == {
        json.dumps([{"pointer": "/template/name", "detail": answers[0]["detail"][16:]}])
    }


DATES: list[tuple[timedelta | None, timedelta | None, str]] = [
    (timedelta(days=-3), None, "/send_at"),
    (timedelta(minutes=-6), None, "/send_at"),
    (timedelta(days=401), None, "/send_at"),
    (timedelta(hours=1), timedelta(hours=1), "/expires_at"),
    (timedelta(hours=2), timedelta(hours=1), "/expires_at"),
    (None, timedelta(0), "/expires_at"),
    (timedelta(minutes=-2), timedelta(minutes=-1), "/expires_at"),
    (timedelta(days=399), timedelta(days=801), "/expires_at"),
]


def test_dates_that_cannot_be_kept_are_refused(api, subtests):
    """Bad input 18, 20; O-TIM-2"""
    before = row_counts()
    for send_in, expires_in, pointer in DATES:
        now = database_now()
        with subtests.test(msg=f"{send_in}, {expires_in}"):
            answer = api.submit(
                send_at=None if send_in is None else (now + send_in).isoformat(),
                expires_at=None
                if expires_in is None
                else (now + expires_in).isoformat(),
            )

            check_field(answer, pointer)
            assert row_counts() == before


def test_a_channel_that_the_template_has_no_text_for_is_named(api):
    """Bad input 15"""
    before = row_counts()
    answer = api.submit(
        template={"name": "login_code"},
        variables={"code": "482913"},
        channels=["email", "push"],
    )

    check_field(answer, "/channels/1")
    assert row_counts() == before


INCOMPLETE: list[tuple[dict[str, Any], list[str]]] = [
    ({"name": "An"}, ["/variables/serial"]),
    ({"name": "", "serial": None}, ["/variables/name", "/variables/serial"]),
    ({"name": "An", "serial": "S1", "foo": 1}, ["/variables/foo"]),
    ({"Name": "An", "serial": "S1"}, ["/variables/Name", "/variables/name"]),
]


def test_variables_that_are_missing_are_named_before_acceptance(api, tenant, subtests):
    """O-TPL-1 (rows of a campaign come with campaigns)"""
    text = {"type": "string"}
    ApprovedVersionFactory.create(
        template__tenant=tenant,
        template__name="certificate",
        contents={Channel.SMS: {"en": {"text": "{{ name }}: {{ serial }}"}}},
        schema={
            "properties": {"name": text, "serial": text},
            "required": ["name", "serial"],
        },
    )
    for variables, pointers in INCOMPLETE:
        with subtests.test(msg=str(variables)):
            answer = api.submit(
                template={"name": "certificate"}, channels=["sms"], variables=variables
            )

            problem = check_problem(answer, status=422, slug="invalid-request")
            assert [error["pointer"] for error in problem["errors"]] == pointers


def with_text(name: str, text: str) -> str:
    """Write the body with a piece of JSON in place of a member's value."""
    return WHOLE[:-1] + f', "{name}": {text}' + "}"


UNREADABLE: list[tuple[str | bytes, int, str]] = [
    ("", 422, "invalid-request"),
    ("{", 400, "malformed-request"),
    ("nothing", 400, "malformed-request"),
    (WHOLE + "x", 400, "malformed-request"),
    (WHOLE.replace("}", ",}", 1), 400, "malformed-request"),
    ("\ufeff" + WHOLE, 400, "malformed-request"),
    (WHOLE.encode("utf-16"), 400, "malformed-request"),
    (WHOLE.encode().replace(b"usr_an", b"usr_\xff"), 400, "malformed-request"),
    (WHOLE.encode().replace(b"USD", b"\xed\xa0\x80"), 400, "malformed-request"),
    (WHOLE.encode().replace(b"USD", b"US\x00D"), 400, "malformed-request"),
    (with_text("channels", '["sms"]'), 400, "malformed-request"),
    (with_text("\\u0063hannels", '["sms"]'), 400, "malformed-request"),
    (with_text("metadata", '{"a": "1", "a": "2"}'), 400, "malformed-request"),
    (with_text("dedupe_window_seconds", "NaN"), 400, "malformed-request"),
    (with_text("dedupe_window_seconds", "-Infinity"), 400, "malformed-request"),
    (with_text("dedupe_window_seconds", "1e400"), 400, "malformed-request"),
    (with_text("dedupe_window_seconds", "9" * 30), 400, "malformed-request"),
    (with_text("dedupe_window_seconds", "9" * 5000), 400, "malformed-request"),
    (with_text("metadata", "[" * 20 + "]" * 20), 400, "malformed-request"),
    (with_text("metadata", '{"a":' * 20 + "1" + "}" * 20), 400, "malformed-request"),
    ("[" * 100_000, 400, "malformed-request"),
    (with_text("reference", '"' + "x" * 257 * 1024 + '"'), 413, "body-too-large"),
    (b"[" + b"1," * 1_000_000 + b"1]", 413, "body-too-large"),
]


def test_what_is_no_strict_json_is_refused(api, subtests):
    """Bad input 8 to 11"""
    before = row_counts()
    for body, status, slug in UNREADABLE:
        with subtests.test(msg=repr(body[-60:])):
            check_problem(api.post(SUBMIT, body), status=status, slug=slug)
            assert row_counts() == before


UNSTORABLE = [
    (WHOLE.replace("USD", "US\\u0000D"), "/variables/currency"),
    (WHOLE.replace("USD", "US\\ud800D"), "/variables/currency"),
    (WHOLE.replace("USD", "\\udfff\\ud83d"), "/variables/currency"),
    (WHOLE.replace('"currency"', '"curren\\u0000cy"'), "/variables"),
    (WHOLE.replace("billing:", "bil\\u0000ling:"), "/idempotency_key"),
    (with_text("reference", '"\\u0000"'), "/reference"),
    (with_text("metadata", '{"a": "\\ud800"}'), "/metadata/a"),
    (with_text("metadata", '{"\\ud800": "a"}'), "/metadata"),
]


def test_what_no_database_stores_is_named(api, subtests):
    """Bad input 11; O-HYG-1"""
    before = row_counts()
    for body, pointer in UNSTORABLE:
        with subtests.test(msg=pointer):
            check_field(api.post(SUBMIT, body), pointer)
            assert row_counts() == before


MEDIA_TYPES = [
    ("text/plain", "identity"),
    ("application/json; charset=utf-16", "identity"),
    ("multipart/form-data; boundary=x", "identity"),
    ("application/x-www-form-urlencoded", "identity"),
    ("", "identity"),
    ("application/json", "gzip"),
]


def test_another_media_type_is_refused(api, subtests):
    """Bad input 10, 12"""
    before = row_counts()
    for content_type, encoding in MEDIA_TYPES:
        with subtests.test(msg=f"{content_type}, {encoding}"):
            answer = api.client.post(
                SUBMIT,
                WHOLE,
                content_type=content_type,
                headers={**api.headers, "Content-Encoding": encoding},
            )

            check_problem(answer, status=415, slug="unsupported-media-type")
            assert row_counts() == before


OWN_KEY = submission()["idempotency_key"]
MISSING, INVALID, MISMATCH = (
    f"idempotency-key-{what}" for what in ("missing", "invalid", "mismatch")
)
KEYS: list[tuple[str | None, str | None, str]] = [
    (None, None, MISSING),
    ("", None, INVALID),
    (None, "", INVALID),
    ("   ", None, INVALID),
    ("k" * 256, None, INVALID),
    (None, "k" * 256, INVALID),
    ("a\tb", None, INVALID),
    ("a\nb", None, INVALID),
    ("a\x7fb", None, INVALID),
    (None, "a\tb", INVALID),
    ("clé", None, INVALID),
    ("😀", None, INVALID),
    (None, "😀".encode().decode("latin-1"), INVALID),
    (None, '"open', INVALID),
    (OWN_KEY, "another", MISMATCH),
    (OWN_KEY, OWN_KEY.upper(), MISMATCH),
]


def test_a_submission_needs_one_plain_key(api, subtests):
    """Bad input 1, 2, 4"""
    before = row_counts()
    for in_body, header, slug in KEYS:
        headers = {} if header is None else {"Idempotency-Key": header}
        with subtests.test(msg=f"{in_body!r}, {header!r}"):
            answer = api.post(SUBMIT, submission(idempotency_key=in_body), **headers)

            check_problem(answer, status=400, slug=slug)
            assert row_counts() == before
