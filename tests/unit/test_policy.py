from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from foundation.quiet_hours import QuietHours
from foundation.quiet_windows import week_of
from preferences.policy import Basis, Case, Decision, Verdict, decide
from preferences.profile import Profile
from providers.channels import Channel
from tenants.categories import (
    Category,
    KnownCategory,
    LegalClass,
    Priority,
    default_priority,
)
from tests.factories.tenants import known_category

NIGHT = datetime(2026, 8, 19, 17, 30, tzinfo=UTC)
MORNING = datetime(2026, 8, 20, 1, tzinfo=UTC)
IN_VIETNAM = QuietHours(start=time(22), end=time(8), zone=ZoneInfo("Asia/Ho_Chi_Minh"))
ALLOW = Decision(verdict=Verdict.ALLOW)
DEFER = Decision(
    verdict=Verdict.DEFER, reason="quiet_hours", rule="quiet_hours", until=MORNING
)


def person(**known: Any) -> Profile:
    return Profile(tenant_id=1, user_id="usr_1", read_at=NIGHT, **known)


def decided(
    profile: Profile,
    channel: Channel,
    category: Category | KnownCategory,
    priority: Priority | None = None,
    at: datetime = NIGHT,
) -> Decision:
    if isinstance(category, Category):
        category = known_category(category)
    return decide(
        Case(
            profile=profile,
            channel=channel,
            category=category,
            priority=default_priority(category.base) if priority is None else priority,
            at=at,
        )
    )


@pytest.mark.parametrize("category", Category)
def test_an_opt_out_of_the_channel_stops_every_category(category: Category) -> None:
    """O-TIM-5: a legal opt-out wins over any message, OTP included."""
    profile = person(opt_outs=frozenset({"sms"}), quiet_hours=IN_VIETNAM)

    assert decided(profile, Channel.SMS, category) == Decision(
        verdict=Verdict.SUPPRESS, reason="opted_out", rule="channel_opt_out"
    )


@pytest.mark.parametrize("channel", [Channel.EMAIL, Channel.PUSH, Channel.IN_APP])
def test_an_opt_out_leaves_other_channels_alone(channel: Channel) -> None:
    profile = person(opt_outs=frozenset({"sms"}))

    assert decided(profile, channel, Category.TRANSACTIONAL) == ALLOW


def test_nothing_is_known_of_the_person_and_all_is_allowed() -> None:
    assert decided(person(), Channel.EMAIL, Category.MARKETING) == ALLOW


@pytest.mark.parametrize("channel", [Channel.EMAIL, Channel.SMS, Channel.PUSH])
@pytest.mark.parametrize(
    ("category", "priority", "decision"),
    [
        (Category.MARKETING, Priority.LOW, DEFER),
        (Category.MARKETING, Priority.HIGH, DEFER),
        (Category.TRANSACTIONAL, Priority.NORMAL, DEFER),
        (Category.TRANSACTIONAL, Priority.LOW, DEFER),
        (Category.TRANSACTIONAL, Priority.HIGH, ALLOW),
        (Category.OTP, Priority.HIGH, ALLOW),
        (Category.OTP, Priority.LOW, ALLOW),
    ],
)
def test_quiet_hours_defer_all_but_codes_and_alerts(
    channel: Channel, category: Category, priority: Priority, decision: Decision
) -> None:
    """O-TIM-1"""
    profile = person(quiet_hours=IN_VIETNAM)

    assert decided(profile, channel, category, priority) == decision


@pytest.mark.parametrize("category", Category)
def test_quiet_hours_leave_the_inbox_alone(category: Category) -> None:
    profile = person(quiet_hours=IN_VIETNAM)

    assert decided(profile, Channel.IN_APP, category) == ALLOW


@pytest.mark.parametrize(
    ("at", "decision"),
    [
        (datetime(2026, 8, 19, 14, 59, 59, tzinfo=UTC), ALLOW),
        (datetime(2026, 8, 19, 15, tzinfo=UTC), DEFER),
        (NIGHT, DEFER),
        (MORNING - timedelta(microseconds=1), DEFER),
        (MORNING, ALLOW),
    ],
)
def test_an_advertisement_waits_for_the_same_morning(
    at: datetime, decision: Decision
) -> None:
    """O-TIM-1"""
    profile = person(quiet_hours=IN_VIETNAM)

    assert decided(profile, Channel.PUSH, Category.MARKETING, at=at) == decision


TIPS = known_category(Category.MARKETING, name="weekly_tips")
SECURITY = known_category(
    Category.TRANSACTIONAL, name="security", legal_class=LegalClass.MANDATORY
)
OFF_BY_CHOICE = Decision(
    verdict=Verdict.SUPPRESS, reason="opted_out", rule="category_choice"
)
OFF_BY_DEFAULT = Decision(
    verdict=Verdict.SUPPRESS, reason="not_opted_in", rule="category_default"
)


def test_a_category_is_switched_off_on_one_channel_alone() -> None:
    """O-TIM-5"""
    profile = person(category_choices={"weekly_tips": {"email": False}})

    assert decided(profile, Channel.EMAIL, TIPS) == OFF_BY_CHOICE
    assert decided(profile, Channel.PUSH, TIPS) == ALLOW
    assert decided(profile, Channel.EMAIL, Category.MARKETING) == ALLOW


def test_what_is_mandatory_passes_choices_and_snooze_but_no_legal_opt_out() -> None:
    """O-TIM-5, bad input 26."""
    profile = person(
        category_choices={"security": {"email": False, "sms": False}},
        opt_outs=frozenset({"sms"}),
        snoozed_until=MORNING,
        quiet_hours=IN_VIETNAM,
    )

    assert decided(profile, Channel.EMAIL, SECURITY) == ALLOW
    assert decided(profile, Channel.SMS, SECURITY).rule == "channel_opt_out"


@pytest.mark.parametrize(
    ("choices", "decision"),
    [
        ({}, OFF_BY_DEFAULT),
        ({"news": {"sms": True}}, OFF_BY_DEFAULT),
        ({"news": {"email": True}}, ALLOW),
        ({"news": {"email": False}}, OFF_BY_CHOICE),
    ],
)
def test_a_choice_goes_before_the_default_of_the_tenant(
    choices: dict[str, dict[str, bool]], decision: Decision
) -> None:
    news = known_category(Category.MARKETING, name="news", off_by_default=["email"])
    profile = person(category_choices=choices)

    assert decided(profile, Channel.EMAIL, news) == decision


def test_a_snooze_defers_what_quiet_hours_would() -> None:
    later = NIGHT + timedelta(days=3)
    profile = person(snoozed_until=later)
    snoozed = Decision(
        verdict=Verdict.DEFER, reason="snoozed", rule="snooze", until=later
    )

    assert decided(profile, Channel.PUSH, Category.MARKETING) == snoozed
    assert decided(profile, Channel.PUSH, Category.TRANSACTIONAL) == snoozed
    assert decided(profile, Channel.IN_APP, Category.MARKETING) == ALLOW
    assert decided(profile, Channel.PUSH, Category.OTP) == ALLOW
    assert decided(profile, Channel.PUSH, Category.MARKETING, at=later) == ALLOW


def test_a_snooze_that_ends_at_night_lasts_until_the_morning() -> None:
    profile = person(snoozed_until=NIGHT + timedelta(minutes=1), quiet_hours=IN_VIETNAM)

    decision = decided(profile, Channel.PUSH, TIPS)

    assert (decision.rule, decision.until) == ("snooze", MORNING)


def test_a_decision_says_what_it_was_made_of() -> None:
    profile = person(quiet_hours=IN_VIETNAM, preference_version=7)

    basis = decided(profile, Channel.EMAIL, TIPS).basis

    assert basis == Basis(preference_version=7, time_zone="Asia/Ho_Chi_Minh", at=NIGHT)


VIETNAM = ZoneInfo("Asia/Ho_Chi_Minh")
OFFICE = week_of("mon-fri 07:00-09:00\nsat,sun 00:00-24:00", VIETNAM)


def waits_until(profile: Profile, **case: Any) -> tuple[str, datetime | None]:
    decision = decide(
        Case(
            profile=profile,
            channel=case.get("channel", Channel.SMS),
            category=known_category(Category.MARKETING),
            priority=Priority.LOW,
            at=case.get("at", NIGHT),
            country=case.get("country", ""),
        )
    )
    return decision.rule, decision.until


def test_a_tenants_hours_hold_what_a_persons_would() -> None:
    profile = person(tenant_quiet_hours=OFFICE)
    eight = MORNING  # by the clock in Vietnam, on a Thursday

    assert waits_until(profile) == ("", None)
    assert waits_until(profile, at=eight)[0] == "tenant_quiet_hours"
    assert waits_until(profile, at=eight, channel=Channel.IN_APP) == ("", None)
    alert = decided(profile, Channel.SMS, Category.TRANSACTIONAL, Priority.HIGH, eight)
    assert alert == ALLOW


def test_where_one_quiet_time_ends_in_another_it_waits_for_the_last() -> None:
    """The answer's `until` is the moment at which it goes out."""
    friday_night = datetime(2026, 8, 21, 17, 30, tzinfo=UTC)
    monday_at_nine = datetime(2026, 8, 24, 2, tzinfo=UTC)
    profile = person(quiet_hours=IN_VIETNAM, tenant_quiet_hours=OFFICE)

    assert waits_until(profile, at=friday_night) == ("quiet_hours", monday_at_nine)
    asleep = person(
        snoozed_until=friday_night + timedelta(hours=1), tenant_quiet_hours=OFFICE
    )
    end_of_sunday = datetime(2026, 8, 23, 17, tzinfo=UTC)
    assert waits_until(asleep, at=friday_night) == ("snooze", end_of_sunday)


def test_hours_that_leave_no_minute_together_hold_and_do_not_hang() -> None:
    days = QuietHours(start=time(8), end=time(22), zone=VIETNAM)
    nights = week_of("daily 22:00-08:00", VIETNAM)
    rule, until = waits_until(person(quiet_hours=days, tenant_quiet_hours=nights))

    assert rule == "tenant_quiet_hours"
    assert until is not None
    assert until > NIGHT + timedelta(days=7)


def test_advertisements_to_a_country_wait_for_the_hours_of_its_law() -> None:
    seven = datetime(2026, 8, 20, 0, tzinfo=UTC)

    assert waits_until(person(), country="VN") == ("regional_hours", seven)
    assert waits_until(person(), country="US") == ("", None)
    assert waits_until(person(), country="VN", channel=Channel.EMAIL) == ("", None)
