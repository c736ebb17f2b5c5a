from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from providers.channels import Channel
from tenants.daily_quotas import DailyQuotaExceeded, Day, day_of
from tenants.limits import QUOTA_FIELDS


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "zone", "day", "ends_at"),
    [
        ("2026-03-01 00:00", "UTC", date(2026, 3, 1), "2026-03-02 00:00"),
        ("2026-03-01 23:59", "UTC", date(2026, 3, 1), "2026-03-02 00:00"),
        ("2026-03-01 16:59", "Asia/Ho_Chi_Minh", date(2026, 3, 1), "2026-03-01 17:00"),
        ("2026-03-01 17:00", "Asia/Ho_Chi_Minh", date(2026, 3, 2), "2026-03-02 17:00"),
        # 23 and 25 hours long.
        ("2026-03-28 23:00", "Europe/Berlin", date(2026, 3, 29), "2026-03-29 22:00"),
        ("2026-10-24 22:00", "Europe/Berlin", date(2026, 10, 25), "2026-10-25 23:00"),
        # A day that begins at one o'clock.
        ("2026-04-23 12:00", "Africa/Cairo", date(2026, 4, 23), "2026-04-23 22:00"),
        ("2026-04-23 22:00", "Africa/Cairo", date(2026, 4, 24), "2026-04-24 21:00"),
    ],
)
def test_a_day_is_the_calendars_at_the_place(now, zone, day, ends_at):
    found = day_of(utc(now), time_zone=zone)

    assert found == Day(date=day, ends_at=utc(ends_at))


@pytest.mark.parametrize(("left", "seconds"), [(0.0, 1), (0.2, 1), (59.5, 60)])
def test_who_is_refused_comes_back_when_the_day_has_begun(left, seconds):
    day = Day(date=date(2026, 3, 1), ends_at=utc("2026-03-02 00:00"))

    refused = DailyQuotaExceeded(
        channel="sms", quota=5, day=day, left=timedelta(seconds=left)
    )

    assert refused.retry_after == seconds


def test_every_channel_can_have_a_quota():
    assert set(QUOTA_FIELDS) == {channel.key for channel in Channel}
