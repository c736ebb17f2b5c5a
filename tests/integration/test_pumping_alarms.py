"""One-time passwords that pour into numbers that begin alike are stopped and told."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.acceptance import sms_rules
from tests.acme import Api, deliveries, provider_settings, query
from tests.stubs.twilio import ACCOUNT_SID, TwilioStub, refused
from tests.texts import code, neighbour, statuses, text


def pour(api: Api, number: int, *, first: int = 0) -> list[Any]:
    return [
        code(api, f"pour-{n}", phone=f"+84901234{n:03}")
        for n in range(first, first + number)
    ]


def alarms() -> list[dict[str, Any]]:
    return query("SELECT * FROM pumping_alarm ORDER BY prefix")


def write_at_once() -> None:
    """Have a process write its alarms as if a second had passed."""
    sms_rules._gathering.cache_clear()


def test_numbers_that_begin_alike_get_so_many_otps_and_no_more(api, settings, caplog):
    settings.SMS_PREFIX_ALARM, settings.SMS_PREFIX_LIMIT = 3, 5

    answers = pour(api, 7)

    assert statuses(answers) == [202] * 5 + [429] * 2
    assert answers[-1].json()["rule"] == "prefix"
    # Elsewhere, and what is no OTP.
    assert code(api, "else", phone="+84912345678").status_code == 202
    assert text(api, "news", phone="+84901234001").status_code == 202
    (alarm,) = alarms()
    assert (alarm["country"], alarm["prefix"]) == ("VN", "8490123")
    assert alarm["passed"] == 1  # and the rest within a second
    warned = [record for record in caplog.records if "pumping" in str(record.msg)]
    assert len(warned) == 1
    assert "901234001" not in str(warned[0].msg)


def test_an_alarm_goes_on_counting_what_passes_and_what_is_refused(api, settings):
    settings.SMS_PREFIX_ALARM, settings.SMS_PREFIX_LIMIT = 2, 3
    for n in range(5):
        write_at_once()
        pour(api, 1, first=n)

    (alarm,) = alarms()

    assert (alarm["passed"], alarm["refused"], alarm["blocked"]) == (2, 2, 0)


def test_an_alarm_after_a_quiet_hour_begins_anew(api, settings, clock):
    settings.SMS_PREFIX_ALARM = 1
    pour(api, 1)
    (before,) = alarms()
    clock.advance(sms_rules.TEN_MINUTES)
    write_at_once()
    pour(api, 1, first=1)
    (during,) = alarms()
    clock.advance(sms_rules.A_DAY)
    write_at_once()
    pour(api, 1, first=2)

    (after,) = alarms()

    assert during["since"] == before["since"]
    assert (before["passed"], during["passed"], after["passed"]) == (1, 2, 1)
    assert after["since"] > during["last_at"]


def test_an_alarm_alone_refuses_nobody(api, settings):
    settings.SMS_PREFIX_ALARM, settings.SMS_PREFIX_LIMIT = 2, 0

    assert statuses(pour(api, 6)) == [202] * 6

    assert len(alarms()) == 1


def test_a_tenants_prefix_is_no_other_tenants(api, settings):
    settings.SMS_PREFIX_ALARM, settings.SMS_PREFIX_LIMIT = 0, 1
    assert statuses(pour(api, 2)) == [202, 429]
    theirs = neighbour()

    assert code(theirs, 1, phone="+84901234777").status_code == 202


@pytest.mark.parametrize(
    ("submit", "ends"),
    [
        (text, ("pending", "transient_error")),
        (code, ("dead", "retry_window_over")),
    ],
)
def test_a_provider_that_blocks_pumping_raises_the_alarm(
    api, settings, consume, submit, ends
):
    """30450, which rests the number for half an hour and fails over to nobody; a
    one-time password is over by then."""
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "sms": "twilio_stub"}
    with TwilioStub() as stub:
        stub.always(refused(400, 30450))
        options = {
            "account_sid": ACCOUNT_SID,
            "auth_token": "secret",
            "sender": "+15005550006",
            "url": stub.origin,
        }
        entry = {"BACKEND": "providers.sms.twilio.TwilioAdapter", "OPTIONS": options}
        with provider_settings(twilio_stub=entry):
            notification = submit(api, 1).json()["notification_id"]
            consume()

    (delivery,) = deliveries(notification)
    assert (delivery["status"], delivery["reason"]) == ends
    (alarm,) = alarms()
    assert (alarm["prefix"], alarm["country"]) == ("8490123", "VN")
    assert (alarm["passed"], alarm["refused"], alarm["blocked"]) == (0, 0, 1)
