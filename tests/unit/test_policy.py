from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from preferences.policy import Decision, Verdict, decide
from preferences.profile import Profile
from preferences.quiet_hours import QuietHours
from providers.channels import Channel
from tenants.categories import Category, Priority, default_priority

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
    category: Category,
    priority: Priority | None = None,
    at: datetime = NIGHT,
) -> Decision:
    return decide(
        profile=profile,
        channel=channel,
        category=category,
        priority=default_priority(category) if priority is None else priority,
        at=at,
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
