from __future__ import annotations

from datetime import UTC, datetime

import pytest

from preferences.regional_rules import (
    NEUTRAL,
    RULES,
    RegionalRules,
    find_rules,
    read_rules,
)
from providers.channels import Channel
from tenants.categories import Category
from tests.factories.tenants import known_category

SALE = known_category(Category.MARKETING)


def test_vietnam_asks_for_hours_a_cap_and_a_label_each_with_its_source() -> None:
    """Decree 91/2020/NĐ-CP: 07:00 to 22:00, 3 in 24 hours, [QC] in front."""
    vietnam = RULES["VN"]

    week = vietnam.quiet_week(UTC)
    assert week is not None
    assert week.until(datetime(2026, 11, 30, 14, 59, tzinfo=UTC)) is None
    seven = datetime(2026, 12, 1, 0, tzinfo=UTC)
    assert week.until(datetime(2026, 11, 30, 15, tzinfo=UTC)) == seven
    assert vietnam.a_day == 3
    assert vietnam.labels[0] == "[QC]"
    assert all("91/2020" in vietnam.sources[name] for name in ("quiet_hours", "a_day"))


@pytest.mark.parametrize(
    ("text", "labelled"),
    [
        ("Sale", "[QC] Sale"),
        ("[QC] Sale", "[QC] Sale"),
        ("[AD] Sale", "[AD] Sale"),
        ("Sale [QC]", "[QC] Sale [QC]"),
        ("[qc] Sale", "[QC] [qc] Sale"),
    ],
)
def test_a_label_is_put_in_front_where_none_is(text: str, labelled: str) -> None:
    """Bad input 51."""
    assert RULES["VN"].labelled(text) == labelled
    assert NEUTRAL.labelled(text) == text


@pytest.mark.parametrize(
    ("country", "channel", "category"),
    [
        ("US", Channel.SMS, SALE),
        ("", Channel.SMS, SALE),
        ("VN", Channel.EMAIL, SALE),
        ("VN", Channel.SMS, known_category(Category.OTP)),
        ("VN", Channel.SMS, known_category(Category.TRANSACTIONAL)),
    ],
)
def test_all_else_has_the_neutral_rules(country, channel, category) -> None:
    assert find_rules(country=country, channel=channel, category=category) is NEUTRAL
    assert NEUTRAL.quiet_week(UTC) is None


@pytest.mark.parametrize(
    "text",
    [
        "[XX.marketing_sms]\na_day = 3\nsources = {}\n",
        '[XX.marketing_sms]\nsources = {a_day = "law"}\n',
        '[XX.marketing_sms]\na_month = 3\nsources = {a_month = "law"}\n',
        '[XX.marketing_sms]\nquiet_hours = "nightly"\nsources = {quiet_hours = "x"}\n',
        '[XX.marketing_sms]\ntime_zone = "Mars/X"\nsources = {time_zone = "x"}\n',
    ],
)
def test_rules_without_sense_or_source_are_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        read_rules(text)


def test_a_country_without_a_zone_of_its_own_takes_the_persons() -> None:
    rules = RegionalRules(quiet_hours="daily 22:00-07:00")

    week = rules.quiet_week(UTC)

    assert week is not None
    assert week.until(datetime(2026, 11, 30, 23, tzinfo=UTC)) is not None
