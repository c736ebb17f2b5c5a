"""The vendors' documents that the stubs are judged by, and the judges themselves."""

from __future__ import annotations

import http.client
import inspect

import openapi_spec_validator
import pytest

from providers.push.fcm import FcmAdapter
from providers.push.fcm_codes import CODES
from providers.sms.twilio import TwilioAdapter
from tests.data.extract import EXTRACTS, FOLDER, read_extract, write_extract
from tests.stubs import fcm, fcm_document, twilio_document
from tests.stubs.twilio import ACCOUNT_SID, MESSAGING_SERVICE, TwilioStub, created

TEXT = {"To": "+84912345678", "Body": "Hello.", "From": "+15005550006"}
MESSAGE = {"token": "t", "notification": {"title": "x"}, "data": {"a": "1"}}


@pytest.mark.parametrize("name", EXTRACTS)
def test_extract_holds_all_it_refers_to_and_nothing_else(name):
    """Whoever has the source compares it with --check."""
    again = write_extract(read_extract(name), EXTRACTS[name])

    assert (FOLDER / f"{name}.json").read_text() == again


def test_extract_of_twilio_is_an_openapi_document():
    openapi_spec_validator.validate(twilio_document.DOCUMENT)


@pytest.mark.parametrize(
    ("adapter", "server"),
    [(TwilioAdapter, twilio_document.SERVER), (FcmAdapter, fcm_document.SERVER)],
)
def test_adapter_goes_to_the_server_of_the_document(adapter, server):
    url = inspect.signature(adapter).parameters["url"].default

    assert url == server.rstrip("/")


def test_examples_of_twilio_itself_pass_the_judge():
    answers = twilio_document.OPERATION["responses"]["201"]["content"]
    examples = answers["application/json"]["examples"].values()

    assert len(examples) > 3
    for example in examples:
        twilio_document.judge_created(example["value"])


def test_pages_of_twilio_itself_pass_the_judge():
    assert len(twilio_document.PAGE_EXAMPLES) > 3
    for example in twilio_document.PAGE_EXAMPLES:
        twilio_document.judge_page(example)


@pytest.mark.parametrize(
    "query", [{"Body": "Hello."}, {"PageSize": "1001"}, {"DateSent>": "yesterday"}]
)
def test_list_that_twilio_does_not_document_is_refused(query):
    with pytest.raises((AssertionError, ValueError)):
        twilio_document.judge_query(query)


@pytest.mark.parametrize(
    "changes",
    [
        *[{"To": "ada@example.org"}, {"From": "TwelveLetters"}, {"to": "+84912345678"}],
        *[{"Metadata": "dlv_1"}, {"MessagingServiceSid": "MG1"}],
        *[{"StatusCallback": "/callback"}, {"StatusCallback": "https://é.example/"}],
        *[{"ValidityPeriod": "4.5"}, {"ValidityPeriod": "soon"}],
        *[{"ValidityPeriod": "0"}, {"ValidityPeriod": "36001"}],
        *[{"ContentRetention": "forget"}, {"SmartEncoded": "yes"}],
        *[{"To": None}, {"From": None}, {"Body": None}],
    ],
)
def test_form_that_twilio_does_not_document_is_refused(changes):
    changed = {**TEXT, **changes}
    form = {name: text for name, text in changed.items() if text is not None}

    with pytest.raises(AssertionError):
        twilio_document.judge_form(form)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"From": "Acme", "ValidityPeriod": "36000", "SmartEncoded": "true"},
        {"MessagingServiceSid": MESSAGING_SERVICE, "ContentRetention": "discard"},
        {"StatusCallback": "https://acme.example/twilio?delivery=1"},
    ],
)
def test_form_that_twilio_documents_is_taken(changes):
    twilio_document.judge_form({**TEXT, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        *[{"sid": "SM1"}, {"status": "new"}, {"error_code": "30003"}, {"to": 5}],
        *[{"date_created": "2026-11-30T12:00:00Z"}, {"price_unit": "dollars"}],
        {"idempotency_key": "dlv_1"},
    ],
)
def test_stub_cannot_answer_what_twilio_does_not_document(changes):
    with pytest.raises(AssertionError):
        created(**changes)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/2010-04-01/Accounts/AC1/Messages.json", {}),
        (f"/2010-04-01/Accounts/{ACCOUNT_SID}/Messages", {}),
        (None, {"Content-Type": "application/json"}),
        (None, {"Authorization": "Bearer c2VjcmV0"}),
        (None, {"Authorization": "Basic QUMxOg=="}),
    ],
)
def test_request_that_twilio_does_not_document_fails_its_test(path, headers):
    usual = {"Content-Type": twilio_document.CONTENT_TYPE}
    usual["Authorization"] = "Basic QUMxOnNlY3JldA=="
    path = path or twilio_document.PATH.replace("{AccountSid}", ACCOUNT_SID)
    body = "To=%2B84912345678&Body=Hello&From=Acme"

    def post(**given):
        with TwilioStub() as stub:
            peer = http.client.HTTPConnection("127.0.0.1", stub.port, timeout=10)
            peer.request("POST", path, body, {**usual, **given})
            assert peer.getresponse().status == 201
            peer.close()

    with pytest.raises(AssertionError):
        post(**headers)


@pytest.mark.parametrize(
    "changes",
    [
        *[{"message": None}, {"message": {}}, {"validate_only": True}],
        *[{"message": {**MESSAGE, **more}} for more in ({"to": "t"}, {"topic": "t"})],
        *[
            {"message": {**MESSAGE, "data": data}}
            for data in ({"a": 1}, {"a": None}, ["a"])
        ],
        *[
            {"message": {**MESSAGE, "android": android}}
            for android in (
                *[{"ttl": "5"}, {"ttl": 5}, {"priority": "high"}],
                *[{"collapse_id": "1"}, {"notification": {"Tag": "1"}}],
                {"notification": {"notificationCount": 2**31}},
            )
        ],
        {"message": {**MESSAGE, "apns": {"headers": {"apns-expiration": 5}}}},
        {"message": {**MESSAGE, "name": "projects/acme/messages/1"}},
    ],
)
def test_content_that_google_does_not_document_is_refused(changes):
    with pytest.raises(AssertionError):
        fcm_document.judge_content({"message": MESSAGE} | changes)


def test_content_that_google_documents_is_taken():
    android = {"ttl": "3.5s", "priority": "HIGH", "notification": {"tag": "1"}}
    webpush = {"headers": {"TTL": "5"}, "notification": {"whatever": [1]}}
    message = {**MESSAGE, "android": android, "webpush": webpush}

    fcm_document.judge_content({"message": message, "validateOnly": True})


@pytest.mark.parametrize(
    ("status", "word", "details"),
    [
        *[(404, "UNAVAILABLE", []), (404, "UNREGISTERED", []), (418, "TEAPOT", [])],
        (404, "NOT_FOUND", [fcm.fcm_error("GONE")]),
        (404, "NOT_FOUND", [{"@type": "FcmError", "errorCode": "UNREGISTERED"}]),
        (400, "INVALID_ARGUMENT", [{**fcm.violations("a"), "more": 1}]),
    ],
)
def test_stub_cannot_answer_what_google_does_not_document(status, word, details):
    with pytest.raises(AssertionError):
        fcm.refused(status, word, *details)


def test_words_in_the_table_of_fcm_are_words_of_google():
    pairs = [row["properties"] for row in _error()["oneOf"]]
    said = {
        (pair["code"]["const"], word)
        for pair in pairs
        for word in pair["status"].get("enum", [pair["status"].get("const")])
    }
    codes = fcm_document.ERROR["$defs"]["FcmError"]["properties"]["errorCode"]["enum"]

    assert {row for row in CODES if row not in said and row[1] not in codes} == set()
    assert {word for _, word in CODES} >= set(codes)


def _error():
    return fcm_document.ERROR["properties"]["error"]
