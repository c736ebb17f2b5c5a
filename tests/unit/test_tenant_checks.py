from __future__ import annotations

import pytest

from tenants.checks import check_rate, check_sms_rules


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("TENANT_RATE", 1, []),
        ("TENANT_RATE", 0, ["tenants.E003"]),
        ("EXPECTED_WEB_PROCESSES", 0, ["tenants.E003"]),
    ],
)
def test_a_rate_that_lets_nobody_in_is_an_error(settings, name, value, found):
    setattr(settings, name, value)

    assert [each.id for each in check_rate()] == found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SMS_A_DAY", -1),
        ("SMS_PREFIX_LIMIT", -1),
        ("SMS_COUNTRIES", ""),
        ("SMS_COUNTRIES", "vn"),
        ("SMS_PRICES", {"VN": "0.1"}),
        ("SMS_PRICES", {"*": "much"}),
        ("SMS_PRICES", {"*": "-1"}),
        ("SMS_PRICES", {"*": "NaN"}),
    ],
)
def test_rules_on_text_messages_that_could_not_hold_are_refused(settings, name, value):
    setattr(settings, name, value)

    assert [error.id for error in check_sms_rules()] == ["tenants.E004"]


def test_the_rules_that_are_set_without_asking_hold():
    assert check_sms_rules() == []
