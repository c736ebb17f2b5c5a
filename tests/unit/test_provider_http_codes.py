"""The HTTP status table and Retry-After, row by row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.base import Verdict
from providers.channels import Channel
from providers.http import HttpAdapter, HttpAnswer
from providers.http_codes import STATUSES, parse_retry_after, verdict_of_status
from tests.factories.providers import OutboundMessageFactory

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
STATUS_ROWS = {
    Verdict.ACCOUNT_FAULT: [
        *[301, 302, 303, 304, 307, 308],
        *[401, 402, 403, 404, 405, 407, 410, 415],
    ],
    Verdict.BAD_MESSAGE: [400, 413, 422, 406, 418],
    Verdict.TRANSIENT: [408, 409, 425],
    Verdict.RATE_LIMITED: [429],
    Verdict.UNKNOWN: [500, 501, 502, 503, 504, 520, 599, 100, 199, 600],
}
ROWS = [(status, verdict) for verdict, rows in STATUS_ROWS.items() for status in rows]


@pytest.mark.parametrize(("status", "verdict"), ROWS)
def test_status_has_one_meaning(status, verdict):
    assert verdict_of_status(status, retry_after=None) is verdict


def test_every_row_of_the_table_is_in_the_table_of_this_file():
    assert set(STATUSES) <= {status for status, _ in ROWS}


def test_503_is_not_processed_only_when_it_says_when_to_come_back():
    minute = timedelta(minutes=1)

    assert verdict_of_status(503, retry_after=minute) is Verdict.TRANSIENT
    assert verdict_of_status(503, retry_after=None) is Verdict.UNKNOWN
    assert verdict_of_status(500, retry_after=minute) is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        ("999999999999999999999", 86_400),
        ("Mon, 30 Nov 2026 10:00:30 GMT", 30),
        ("Mon, 30 Nov 2026 09:00:00 GMT", 0),
        ("Mon, 30 Nov 2027 09:00:00 GMT", 86_400),
    ],
)
def test_retry_after_is_seconds_or_a_date(text, seconds):
    assert parse_retry_after(text, now=NOW) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", [None, "", "soon", "-5", "1.5", "٣", "12 s"])
def test_retry_after_that_is_neither_is_ignored(text):
    assert parse_retry_after(text, now=NOW) is None


@settings(deadline=None)
@given(st.text() | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [+-]\d+"))
def test_no_retry_after_is_too_strange(text):
    wait = parse_retry_after(text, now=NOW)

    assert wait is None or timedelta() <= wait <= timedelta(days=1)


def classify(status, body=b"{}", headers=None):
    adapter = HttpAdapter(url="https://provider.example/messages")
    return adapter.classify(HttpAnswer(status=status, headers=headers or {}, body=body))


@pytest.mark.parametrize("status", [200, 201, 202])
def test_accepted_is_a_2xx_with_the_documented_id(status):
    result = classify(status, b'{"id": "msg-1"}')

    assert result == Verdict.ACCEPTED.result(
        code=f"http_{status}", provider_message_id="msg-1"
    )


@pytest.mark.parametrize(
    "body",
    [
        *[b"", b"{}", b"[]", b"null", b"<html>", b"\xff\xfe", b"[" * 100_000],
        *[b'{"id": ""}', b'{"id": 7}', b'{"id": "x', b'{"id": "%s"}' % (b"x" * 201)],
    ],
)
def test_2xx_without_the_documented_id_proves_nothing(body):
    result = classify(202, body)

    assert result == Verdict.UNKNOWN.result(code="http_202 without_id")


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        ("invalid_recipient", Verdict.BAD_RECIPIENT),
        ("invalid_token", Verdict.DEAD_TOKEN),
        ("opted_out", Verdict.OPTED_OUT),
        ("other", Verdict.BAD_MESSAGE),
    ],
)
def test_4xx_may_name_the_recipient_as_the_reason(error, verdict):
    result = classify(422, b'{"error": "%s"}' % error.encode())

    assert (result.outcome, result.scope) == verdict.value


def test_5xx_that_names_the_recipient_proves_nothing():
    assert classify(500, b'{"error": "opted_out"}').outcome == "unknown"


def test_error_of_another_shape_is_judged_by_its_status():
    assert classify(400, b'{"error": ["opted_out"]}').outcome == "permanent_error"


def test_rate_limit_says_how_long():
    result = classify(429, headers={"Retry-After": "17"})

    assert result.retry_after == timedelta(seconds=17)


def test_request_is_the_documented_one():
    message = OutboundMessageFactory.build(
        channel=Channel.SMS, expires_at=datetime(2026, 12, 1, tzinfo=UTC)
    )
    adapter = HttpAdapter(url="https://provider.example/messages", token="s3cret")

    request = adapter.build_request(message)
    content = HttpAnswer(status=0, headers={}, body=request.body).json_object()

    assert content == {
        "id": request.headers["Idempotency-Key"],
        "to": "+84912345678",
        "channel": "sms",
        "parts": {"text": "Hello."},
        "expires_at": "2026-12-01T00:00:00+00:00",
    }
    assert request.headers["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(request)
    assert "+84912345678" not in repr(request)


@pytest.mark.parametrize(
    "options",
    [
        {"url": ""},
        {"url": "ftp://provider.example"},
        {"url": "https://"},
        {"url": "http://[::1"},
        {"url": "http://provider.example:99999999/"},
        {"url": "http://provider.example/", "token": "s3cret"},
        {"url": "https://provider.example/", "token": "s3cret\n"},
        {"url": "https://provider.example/", "token": "sécret"},
    ],
)
def test_unusable_options_are_refused_without_quoting_the_secret(options):
    with pytest.raises(ImproperlyConfigured) as refusal:
        HttpAdapter(**options)

    assert "cret" not in str(refusal.value)
