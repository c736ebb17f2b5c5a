"""FCM's codes, row by row, what is refused before the call, and the options."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.base import Verdict
from providers.channels import Channel
from providers.http import HttpAnswer, UnsendableMessage
from providers.push.fcm import FcmAdapter
from providers.push.fcm_codes import CODES, classify_error
from providers.push.fcm_message import LARGEST_PAYLOAD, write_message
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.fcm import (
    FcmStub,
    error_body,
    fcm_error,
    private_key,
    public_key,
    violations,
)

MINUTE = timedelta(minutes=1)
CODE_ROWS = {
    Verdict.BAD_MESSAGE: [(400, "INVALID_ARGUMENT")],
    Verdict.ACCOUNT_FAULT: [
        *[(401, "UNAUTHENTICATED"), (401, "APNS_AUTH_ERROR")],
        *[(401, "THIRD_PARTY_AUTH_ERROR"), (403, "PERMISSION_DENIED")],
        (404, "NOT_FOUND"),
    ],
    Verdict.DEAD_TOKEN: [(403, "SENDER_ID_MISMATCH"), (404, "UNREGISTERED")],
    Verdict.RATE_LIMITED: [(429, "QUOTA_EXCEEDED"), (429, "RESOURCE_EXHAUSTED")],
    Verdict.UNKNOWN: [(500, "INTERNAL"), (500, "UNSPECIFIED_ERROR")],
    Verdict.TRANSIENT: [(503, "UNAVAILABLE")],
}
ROWS = [(row, verdict) for verdict, rows in CODE_ROWS.items() for row in rows]
STATUS_ROWS = {
    Verdict.ACCOUNT_FAULT: [301, 307, 401, 403, 404, 405],
    Verdict.BAD_MESSAGE: [400, 413],
    Verdict.TRANSIENT: [408],
    Verdict.UNKNOWN: [429, 500, 502, 503, 504, 599],
}
FAMILIES = [
    (status, verdict) for verdict, rows in STATUS_ROWS.items() for status in rows
]
DEAD = "The registration token is not a valid FCM registration token"


def classify(status, body, retry_after=None):
    return classify_error(status=status, body=body, retry_after=retry_after)


def meaning(result):
    return result.outcome, result.scope


def push(**fields):
    return OutboundMessageFactory.build(channel=Channel.PUSH, **fields)


def data_of(**parts):
    parts = {"title": "Hello", "body": "Hello.", **parts}
    return write_message(push(parts=parts))["data"]


@pytest.mark.parametrize(("row", "verdict"), ROWS)
@pytest.mark.parametrize("by_fcm", [True, False])
def test_code_has_one_meaning(row, verdict, by_fcm):
    """Of FcmError, which wins over the status of google.rpc, or of that status."""
    status, word = row
    body = error_body(status, word)
    if by_fcm:
        body = error_body(status, "ABORTED", fcm_error(word))

    result = classify(status, body)

    assert (meaning(result), result.code) == (verdict.value, word)


def test_every_row_of_the_table_is_in_the_table_of_this_file():
    assert dict(ROWS) == dict(CODES)


@pytest.mark.parametrize(("status", "verdict"), FAMILIES)
@pytest.mark.parametrize(
    "body", [{}, {"error": "x"}, {"error": {"status": ["NOT_FOUND"], "details": 5}}]
)
def test_answer_without_a_listed_code_falls_back_on_its_status(status, verdict, body):
    assert classify(status, body) == verdict.result(code=f"http_{status}")


def test_code_under_another_status_than_its_own_is_not_believed():
    result = classify(500, error_body(500, "NOT_FOUND", fcm_error("UNREGISTERED")))

    assert result == Verdict.UNKNOWN.result(code="http_500 UNREGISTERED")


def test_project_that_is_not_there_kills_no_token():
    result = classify(404, error_body(404, "NOT_FOUND"))

    assert result == Verdict.ACCOUNT_FAULT.result(code="NOT_FOUND")


def test_words_that_are_none_do_not_reach_the_code():
    result = classify(400, error_body(400, "token abc is bad"))

    assert result == Verdict.BAD_MESSAGE.result(code="http_400")


@pytest.mark.parametrize(
    ("details", "text", "verdict"),
    [
        ([fcm_error("INVALID_ARGUMENT")], DEAD, Verdict.DEAD_TOKEN),
        ([fcm_error("INVALID_ARGUMENT")], "Invalid TTL", Verdict.BAD_MESSAGE),
        ([], DEAD, Verdict.BAD_MESSAGE),
        ([violations("message.token")], "No.", Verdict.DEAD_TOKEN),
        ([violations("message.data[0].key")], DEAD, Verdict.BAD_MESSAGE),
        ([violations("message.token", "message.android")], DEAD, Verdict.BAD_MESSAGE),
        (
            [fcm_error("INVALID_ARGUMENT"), violations("message.android.ttl")],
            DEAD,
            Verdict.BAD_MESSAGE,
        ),
    ],
)
def test_token_is_dead_only_where_it_is_what_was_invalid(details, text, verdict):
    body = error_body(400, "INVALID_ARGUMENT", *details, text=text)

    assert meaning(classify(400, body)) == verdict.value


@pytest.mark.parametrize(
    ("row", "told", "wait"),
    [
        ((429, "QUOTA_EXCEEDED"), None, MINUTE),
        ((429, "QUOTA_EXCEEDED"), timedelta(seconds=1), timedelta(seconds=10)),
        ((429, "QUOTA_EXCEEDED"), 5 * MINUTE, 5 * MINUTE),
        ((503, "UNAVAILABLE"), None, timedelta(seconds=10)),
        ((503, "UNAVAILABLE"), 2 * MINUTE, 2 * MINUTE),
    ],
)
def test_fcm_is_left_alone_for_a_while(row, told, wait):
    result = classify(row[0], error_body(*row), retry_after=told)

    assert result.retry_after == wait


def test_503_of_something_in_between_proves_nothing_unless_it_says_when():
    assert classify(503, {}, MINUTE).outcome == "transient_error"
    assert classify(503, {}).outcome == "unknown"


def test_data_is_text_with_the_link_and_the_delivery_id():
    data = data_of(data='{"a": "b", "n": 5, "deep": {"é": [true]}}', link="https://x.y")

    assert data.pop("delivery_id").startswith("dlv_")
    assert data == {"a": "b", "n": "5", "deep": '{"é": [true]}', "link": "https://x.y"}


@pytest.mark.parametrize(
    "key",
    [
        *["from", "message_type", "gcm", "gcm.notification.x", "google", "google.x"],
        *["google\n", "delivery_id", "link"],
    ],
)
def test_key_that_would_be_lost_is_refused(key):
    with pytest.raises(UnsendableMessage, match="reserved_data_key"):
        data_of(data=json.dumps({key: "x"}), link="https://x.y")


@pytest.mark.parametrize("key", ["fromage", "sender_from", "my.google", "From"])
def test_key_that_only_looks_like_a_reserved_one_is_sent(key):
    assert data_of(data=json.dumps({key: "x"}))[key] == "x"


@pytest.mark.parametrize("data", ["", "[1]", "null", "{", "[" * 2000])
def test_data_that_is_no_object_is_refused(data):
    with pytest.raises(UnsendableMessage, match="malformed_data"):
        data_of(data=data)


def test_payload_is_measured_in_bytes():
    fits = LARGEST_PAYLOAD - 150

    assert data_of(body="x" * fits)
    assert data_of(body="é" * (fits // 2))
    for body in ("x" * LARGEST_PAYLOAD, "é" * (fits // 2 + 100)):
        with pytest.raises(UnsendableMessage, match="payload_too_large"):
            data_of(body=body)


def test_half_of_a_surrogate_pair_is_fcms_to_refuse():
    assert data_of(data=r'{"a": "\ud800"}')["a"] == "\ud800"


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(st.text(), st.text() | st.integers() | st.booleans()))
def test_nothing_above_the_limit_is_ever_written(given_data):
    message = push(parts={"title": "é", "data": json.dumps(given_data)})
    try:
        written = write_message(message)
    except UnsendableMessage:
        return
    counted = [*written["data"].items(), *written["notification"].items()]
    size = sum(len("".join(pair).encode(errors="surrogatepass")) for pair in counted)
    assert size <= LARGEST_PAYLOAD


def classify_answer(body):
    adapter = FcmAdapter(service_account=FcmStub().service_account())
    return adapter.classify(HttpAnswer(status=200, headers={}, body=body))


def test_accepted_is_a_2xx_with_the_documented_name():
    name = "projects/acme-push/messages/0:1500415314455276%31bd1c9631bd1c96"

    result = classify_answer(json.dumps({"name": name}).encode())

    assert result == Verdict.ACCEPTED.result(code="http_200", provider_message_id=name)


@pytest.mark.parametrize(
    "body",
    [
        *[b"", b"{}", b"<html>", b"\xff", b"[" * 100_000, b'{"name": 5}'],
        *[b'{"name": "x"}', b'{"name": "projects/p/messages/%s"}' % (b"x" * 200)],
    ],
)
def test_2xx_without_the_documented_name_proves_nothing(body):
    assert classify_answer(body) == Verdict.UNKNOWN.result(code="http_200 without_id")


@pytest.mark.parametrize(
    "changes",
    [
        *[{name: ""} for name in ("project_id", "client_email", "private_key_id")],
        *[{"private_key": key} for key in ("", "s3cret", 5)],
        *[{"token_uri": url} for url in ("", "x", "http://oauth2.example/token")],
    ],
)
def test_unusable_key_file_is_refused_without_quoting_it(changes):
    with pytest.raises(ImproperlyConfigured, match="service_account") as refusal:
        FcmAdapter(service_account=FcmStub().service_account(**changes))

    assert "s3cret" not in str(refusal.value)
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize("text", ["", "{", "[]", "s3cret", "[" * 100_000])
def test_what_is_no_key_file_is_refused(text):
    with pytest.raises(ImproperlyConfigured) as refusal:
        FcmAdapter(service_account=text)

    assert "s3cret" not in str(refusal.value)


def test_public_key_signs_nothing():
    with pytest.raises(ImproperlyConfigured, match="public"):
        FcmAdapter(service_account=FcmStub().service_account(private_key=public_key()))


def test_address_needs_encryption():
    with pytest.raises(ImproperlyConfigured, match="https"):
        FcmAdapter(
            service_account=FcmStub().service_account(), url="http://fcm.example"
        )


def test_account_shows_no_key():
    adapter = FcmAdapter(service_account=FcmStub().service_account())

    assert private_key()[40:80] not in repr(vars(adapter))
    assert "push-token-1" not in repr(adapter.build_request(push()))
