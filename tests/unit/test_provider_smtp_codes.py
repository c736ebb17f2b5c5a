"""Every row of the SMTP tables, and how the two codes of a reply work together."""

from __future__ import annotations

from datetime import timedelta

import pytest

from providers.base import Verdict
from providers.email.smtp_codes import (
    AUTHENTICATION_REPLIES,
    ENHANCED,
    REPLIES,
    classify_reply,
)

# RFC 5321 and its extensions, without an enhanced code.
BARE_REPLIES = {
    Verdict.BUSY_RECIPIENT: [450],
    Verdict.TRANSIENT: [421, 451, 452, 454, 455, 458, 459, 471, 442],
    Verdict.BAD_MESSAGE: [500, 501, 502, 503, 504, 552, 554, 571, 555],
    Verdict.BAD_RECIPIENT: [521, 556, 550, 551, 553],
    Verdict.ACCOUNT_FAULT: [432, 530, 534, 535, 538],
}
# RFC 3463 and the IANA registry.
PERMANENT_CODES = {
    Verdict.BAD_RECIPIENT: [
        *["5.1.0", "5.1.2", "5.1.4"],
        *["5.2.1", "5.3.0", "5.3.1", "5.3.2", "5.3.3", "5.3.5"],
        *["5.4.1", "5.4.2", "5.4.3", "5.4.4", "5.4.5", "5.6.7"],
    ],
    Verdict.DEAD_ADDRESS: ["5.1.1", "5.1.3", "5.1.6", "5.1.10"],
    Verdict.ACCOUNT_FAULT: [
        *["5.1.7", "5.1.8", "5.7.8", "5.7.9", "5.7.10", "5.7.11", "5.7.12", "5.7.13"],
        *["5.7.14", "5.7.20", "5.7.21", "5.7.22", "5.7.23", "5.7.24", "5.7.25"],
        *["5.7.26", "5.7.27", "5.7.29", "5.7.30", "5.7.31"],
    ],
    Verdict.BAD_MESSAGE: [
        *["5.2.3", "5.3.4", "5.4.6", "5.4.7", "5.4.14", "5.5.0", "5.5.1", "5.5.2"],
        *["5.5.3", "5.5.4", "5.5.5", "5.5.6", "5.6.0", "5.6.1", "5.6.2", "5.6.3"],
        *["5.7.0", "5.7.1", "5.7.2", "5.7.3", "5.7.4", "5.7.5", "5.7.6", "5.7.7"],
        "5.7.509",
    ],
    Verdict.BUSY_RECIPIENT: ["5.2.2", "5.2.4"],
    Verdict.TRANSIENT: ["5.7.15", "5.7.16"],
    Verdict.RATE_LIMITED: ["5.7.28"],
}
TEMPORARY_CODES = {
    Verdict.BUSY_RECIPIENT: [
        *["4.1.1", "4.2.0", "4.2.1", "4.2.2", "4.2.4", "4.4.1", "4.4.3", "4.4.4"],
        *["4.7.0", "4.7.1"],
    ],
    Verdict.TRANSIENT: [
        *["4.1.7", "4.1.8", "4.3.0", "4.3.1", "4.3.2", "4.3.3", "4.3.5", "4.4.2"],
        *["4.4.5", "4.4.7", "4.5.3", "4.6.0", "4.7.15", "4.7.16"],
    ],
    Verdict.RATE_LIMITED: ["4.7.28"],
    Verdict.ACCOUNT_FAULT: ["4.7.8", "4.7.14", "4.7.26", "4.7.29", "4.7.32"],
}


def rows(table):
    return [(key, verdict) for verdict, keys in table.items() for key in keys]


@pytest.mark.parametrize(("reply", "verdict"), rows(BARE_REPLIES))
def test_reply_code_alone_decides(reply, verdict):
    result = classify_reply(reply=reply, text="no")

    assert result == verdict.result(code=str(reply))


@pytest.mark.parametrize(("code", "verdict"), rows(PERMANENT_CODES))
@pytest.mark.parametrize("reply", [550, 552, 554, 571])
def test_enhanced_code_overrides_a_permanent_reply(reply, code, verdict):
    result = classify_reply(reply=reply, text=f"{code} no")

    assert result == verdict.result(code=f"{reply} {code}")


@pytest.mark.parametrize(("code", "verdict"), rows(TEMPORARY_CODES))
def test_class_four_asks_to_try_again_unless_the_account_is_at_fault(code, verdict):
    result = classify_reply(reply=451, text=f"{code} not now")

    assert (result.outcome, result.scope) == verdict.value


def test_every_row_of_the_tables_is_in_a_table_of_this_file():
    tested = {code for code, _ in rows(PERMANENT_CODES) + rows(TEMPORARY_CODES)}
    listed = {code for code in ENHANCED if code.count(".") == 2}

    assert {c for c in listed if c.startswith("5")} <= tested
    assert set(REPLIES) | AUTHENTICATION_REPLIES <= {
        reply for reply, _ in rows(BARE_REPLIES)
    }


@pytest.mark.parametrize(
    "text", ["4.7.0 greylisted", "4.7.1 try again", "4.2.0 Greylisted, see …"]
)
def test_greylisting_is_left_alone_for_five_minutes(text):
    result = classify_reply(reply=450, text=text)

    assert result.retry_after == timedelta(minutes=5)


@pytest.mark.parametrize(
    "text",
    [
        "5.7.1 Service unavailable; client host [192.0.2.1] blocked using a list",
        "5.7.1 Unfortunately, part of your network is on our block list (S3140)",
        "5.7.606 Access denied, banned sending IP",
        "5.7.1 192.0.2.1 is listed at zen.example",
    ],
)
def test_refusal_of_our_address_is_the_accounts_fault(text):
    result = classify_reply(reply=550, text=text)

    assert (result.outcome, result.scope) == Verdict.ACCOUNT_FAULT.value


def test_authentication_reply_wins_over_its_enhanced_code():
    result = classify_reply(reply=530, text="5.7.0 Must issue a STARTTLS first")

    assert (result.outcome, result.scope) == Verdict.ACCOUNT_FAULT.value


def test_enhanced_code_of_another_class_is_ignored():
    result = classify_reply(reply=450, text="5.1.1 no such user")

    assert result == Verdict.BUSY_RECIPIENT.result(code="450")


@pytest.mark.parametrize("reply", [500, 550, 554])
def test_refusal_before_the_recipient_is_the_accounts_fault(reply):
    result = classify_reply(reply=reply, text="go away", before_recipient=True)

    assert (result.outcome, result.scope) == Verdict.ACCOUNT_FAULT.value


def test_busy_server_before_the_recipient_stays_transient():
    result = classify_reply(reply=421, text="4.3.2 busy", before_recipient=True)

    assert (result.outcome, result.scope) == Verdict.TRANSIENT.value
