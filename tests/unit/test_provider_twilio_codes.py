"""Twilio's codes, row by row, and the options of its adapter."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured

from providers.base import Verdict
from providers.http import HttpAnswer
from providers.sms.twilio import TwilioAdapter
from providers.sms.twilio_codes import CODES, verdict_of
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.twilio import ACCOUNT_SID, MESSAGING_SERVICE

NUMBER = "+15005550006"
CODE_ROWS = {
    Verdict.ACCOUNT_FAULT: [
        *[20003, 20005, 20006, 20403, 20404, 21210, 21212, 21219],
        *[21401, 21407, 21408, 21601, 21606, 21607, 21608, 21609],
        *[21616, 21621, 21622, 21626, 21657, 21659, 21660],
        *[21701, 21702, 21703, 21704, 21705, 21708, 21709, 21711, 21712],
        *[30102, 30106, 30107, 30132],
    ],
    Verdict.BAD_RECIPIENT: [21214, 21266, 21612],
    Verdict.DEAD_ADDRESS: [21211, 21217, 21268, 21614, 21635],
    Verdict.BAD_MESSAGE: [
        *[21602, 21603, 21604, 21605, 21617, 21618, 21619, 21620, 21623],
        *[21624, 21627, 21654, 21655, 21656, 21658],
        *[30012, 30013, 30014, 30110, 30111],
    ],
    Verdict.OPTED_OUT: [21610],
    Verdict.RATE_LIMITED: [20429, 21611],
    Verdict.BUSY_RECIPIENT: [30450, 60005],
    Verdict.UNKNOWN: [20500, 20503],
}
ROWS = [(code, verdict) for verdict, codes in CODE_ROWS.items() for code in codes]
STATUS_ROWS = {
    Verdict.ACCOUNT_FAULT: [301, 302, 307, 308, 401, 402, 403, 404, 405, 410, 415],
    Verdict.BAD_MESSAGE: [400, 413, 418, 422],
    Verdict.TRANSIENT: [408, 425],
    Verdict.UNKNOWN: [100, 429, 500, 501, 502, 503, 504, 520, 599, 600],
}
FAMILIES = [
    (status, verdict) for verdict, rows in STATUS_ROWS.items() for status in rows
]


def adapter(**changes):
    options = {"account_sid": ACCOUNT_SID, "auth_token": "s3cret", "sender": NUMBER}
    return TwilioAdapter(**options | changes)


def classify(status, content, headers=None, **options):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = HttpAnswer(status=status, headers=headers or {}, body=body)
    return adapter(**options).classify(answer)


@pytest.mark.parametrize(("code", "verdict"), ROWS)
def test_code_has_one_meaning(code, verdict):
    result = classify(400, {"code": code, "status": 400, "message": "No."})

    meant = verdict.result(code=str(code))
    assert (result.outcome, result.scope) == (meant.outcome, meant.scope)
    assert result.code == str(code)


def test_a_block_of_pumped_traffic_is_told_and_outlives_the_retry_of_an_otp():
    result = classify(400, {"code": 30450})

    assert result.is_pumping_block
    assert result.retry_after == timedelta(minutes=30)
    assert not classify(400, {"code": 60005}).is_pumping_block
    assert not classify(503, {"code": 30450}).is_pumping_block


def test_every_row_of_the_table_is_in_the_table_of_this_file():
    assert dict(ROWS) == dict(CODES)


@pytest.mark.parametrize(("status", "verdict"), FAMILIES)
@pytest.mark.parametrize("code", [None, 29999])
def test_code_that_is_not_listed_falls_back_on_its_status(status, verdict, code):
    assert verdict_of(status=status, code=code, by_pool=False) is verdict


@pytest.mark.parametrize("code", sorted(CODES))
@pytest.mark.parametrize("status", [500, 502, 503])
def test_5xx_proves_nothing_whatever_it_says(status, code):
    assert verdict_of(status=status, code=code, by_pool=False) is Verdict.UNKNOWN


def test_redirect_says_nothing_about_a_person():
    result = classify(302, {"code": 21610})

    assert (result.outcome, result.scope) == Verdict.ACCOUNT_FAULT.value


def test_unreachable_combination_is_the_pools_fault_where_twilio_chose_the_sender():
    by_pool = classify(400, {"code": 21612}, sender=MESSAGING_SERVICE)

    assert by_pool == Verdict.ACCOUNT_FAULT.result(code="21612")


def test_503_proves_nothing_even_with_a_date_to_come_back():
    result = classify(503, {"code": 20503}, {"Retry-After": "5"})

    assert result.outcome == "unknown"


@pytest.mark.parametrize(
    "code", [None, "21610", True, 21610.0, [21610], -1, 10**9, {"a": 1}]
)
def test_code_of_another_shape_is_judged_by_its_status(code):
    assert classify(400, {"code": code}) == Verdict.BAD_MESSAGE.result(code="http_400")


@pytest.mark.parametrize("prefix", ["SM", "MM"])
def test_accepted_is_a_2xx_with_the_documented_id(prefix):
    sid = prefix + "0" * 32

    result = classify(201, {"sid": sid, "status": "queued"})

    assert result == Verdict.ACCEPTED.result(code="http_201", provider_message_id=sid)


@pytest.mark.parametrize(
    "content",
    [
        *[b"", b"<html>", b"[" * 100_000, b"\xff", {}, []],
        *[{"sid": None}, {"sid": "SM1"}, {"sid": "AC" + "0" * 32}],
        {"sid": "SM" + "0" * 32 + "\n"},
    ],
)
def test_2xx_without_the_documented_id_proves_nothing(content):
    assert classify(201, content) == Verdict.UNKNOWN.result(code="http_201 without_id")


@pytest.mark.parametrize(
    "sender", [NUMBER, "12345", "Acme", "A-1 & B_2", MESSAGING_SERVICE]
)
def test_senders_that_twilio_knows_are_taken(sender):
    assert adapter(sender=sender)


@pytest.mark.parametrize(
    "options",
    [
        *[{"account_sid": sid} for sid in ("", "AC1", "SK" + "0" * 32)],
        *[{"sender": name} for name in ("", "whatsapp:+1500", "TwelveLetters", "-")],
        *[{"callback_url": url} for url in ("/callback", "https://a_b.example/")],
        *[{"url": "http://api.twilio.example"}, {"url": "ftp://api.twilio.com"}],
        *[{"auth_token": token} for token in ("", "s3cret\n", "sécret")],
        {"key_sid": "AC" + "0" * 32},
    ],
)
def test_unusable_options_are_refused_without_quoting_the_secret(options):
    with pytest.raises(ImproperlyConfigured) as refusal:
        adapter(**options)

    assert "cret" not in str(refusal.value)


def test_request_shows_neither_secret_nor_number_nor_text():
    request = adapter().build_request(OutboundMessageFactory.build(parts={"text": "x"}))

    assert "Basic" not in repr(request)
    assert "Body" not in repr(request)
