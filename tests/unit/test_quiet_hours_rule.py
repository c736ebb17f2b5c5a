"""When quiet hours end, in every zone and on the days when its clock is changed."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from foundation.quiet_hours import DAYS, QuietHours, QuietWeek, leaves_a_minute
from foundation.quiet_windows import window_of

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
ZONES = sorted(zoneinfo.available_timezones() - {"localtime", "Factory"})


def quiet(start: str, end: str, zone: str) -> QuietHours:
    return QuietHours(
        start=time.fromisoformat(start),
        end=time.fromisoformat(end),
        zone=ZoneInfo(zone),
    )


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "zone", "at", "until"),
    [
        # The clock goes forward at 02:00 to 03:00: not an hour late.
        ("22:30", "08:00", "America/New_York", "2026-03-08T05:00", "2026-03-08T12:00"),
        # It goes back at 02:00 to 01:00: not an hour early.
        ("22:30", "08:00", "America/New_York", "2026-11-01T05:00", "2026-11-01T13:00"),
        # An end that there is not: 02:30 half an hour after the gap's end.
        ("22:00", "02:30", "America/New_York", "2026-03-08T06:59", "2026-03-08T07:30"),
        ("22:00", "00:30", "America/Santiago", "2026-09-06T03:59", "2026-09-06T04:30"),
        ("22:00", "00:00", "Africa/Cairo", "2026-04-23T21:59", "2026-04-23T22:00"),
        # A beginning that there is not: quiet from the gap's end.
        ("02:30", "05:00", "America/New_York", "2026-03-08T07:00", "2026-03-08T09:00"),
        # An end that comes twice: after each quiet hour that comes twice.
        ("22:00", "01:30", "America/New_York", "2026-11-01T05:29", "2026-11-01T05:30"),
        ("22:00", "01:30", "America/New_York", "2026-11-01T06:29", "2026-11-01T06:30"),
        # Half an hour back.
        (
            "22:00",
            "07:00",
            "Australia/Lord_Howe",
            "2026-04-04T14:00",
            "2026-04-04T20:30",
        ),
        # Midnight comes after the second 23 o'clock.
        ("20:00", "00:00", "Africa/Cairo", "2026-10-29T20:30", "2026-10-29T22:00"),
        # A day that there was not.
        ("22:00", "08:00", "Pacific/Apia", "2011-12-30T09:00", "2011-12-30T18:00"),
        # All day but for the half hour that the clock jumps over: quiet until tomorrow.
        ("03:00", "02:30", "America/New_York", "2026-03-08T07:00", "2026-03-09T06:30"),
    ],
)
def test_quiet_hours_end_by_the_clock_of_their_zone(
    start: str, end: str, zone: str, at: str, until: str
) -> None:
    """M14"""
    assert quiet(start, end, zone).until(utc(at)) == utc(until)


@pytest.mark.parametrize(
    ("start", "end", "zone", "at"),
    [
        ("22:00", "01:30", "America/New_York", "2026-11-01T05:45"),  # once over
        ("02:30", "05:00", "America/New_York", "2026-03-08T06:59"),  # not begun
        ("22:00", "02:30", "America/New_York", "2026-03-08T07:00"),  # jumped over
    ],
)
def test_what_the_clock_shows_decides_beside_a_change(
    start: str, end: str, zone: str, at: str
) -> None:
    assert quiet(start, end, zone).until(utc(at)) is None


@given(st.times(), st.datetimes(timezones=st.just(UTC)), st.sampled_from(ZONES))
def test_hours_that_end_when_they_begin_are_none(
    start: time, at: datetime, zone: str
) -> None:
    """O-TIM-1: the API refuses them; should they be stored all the same, they are
    never rather than always."""
    at = at.replace(year=2026, day=1)

    assert QuietHours(start=start, end=start, zone=ZoneInfo(zone)).until(at) is None


@given(
    st.integers(0, 1439),
    st.integers(0, 1439),
    st.integers(0, 60 * 24 * 3600 - 1),
    st.sampled_from(
        ["UTC", "Asia/Ho_Chi_Minh", "Asia/Kathmandu", "Pacific/Kiritimati"]
    ),
)
def test_where_no_clock_is_changed_they_end_at_the_next_end(
    first: int, last: int, second: int, zone: str
) -> None:
    window = QuietHours(
        start=at_minute(first), end=at_minute(last), zone=ZoneInfo(zone)
    )
    now = utc("2026-02-03") + timedelta(seconds=second)
    shown = now.astimezone(window.zone)
    into = (shown - shown.replace(hour=0, minute=0, second=0)) - first * MINUTE

    until = window.until(now)

    if into % DAY < (last - first) * MINUTE % DAY:
        assert until == now + (last - first) * MINUTE % DAY - into % DAY
    else:
        assert until is None


class Change(NamedTuple):
    """A moment from which a clock is `by` further on than it was."""

    zone: str
    at: datetime
    by: timedelta


def changes(first_year: int, last_year: int) -> Iterator[Change]:
    """Find every change of every zone, once where several change alike."""
    seen = set()
    for name in ZONES:
        zone, hour = ZoneInfo(name), utc(f"{first_year}-01-01")
        before = hour.astimezone(zone).utcoffset()
        while hour.year <= last_year:
            hour += timedelta(hours=12)
            after = hour.astimezone(zone).utcoffset()
            if after == before:
                continue
            assert before is not None
            assert after is not None
            at = change_within(hour - timedelta(hours=12), hour, zone)
            if (at, before, after) not in seen:
                seen.add((at, before, after))
                yield Change(name, at, after - before)
            before = after


def change_within(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    offset = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // timedelta(seconds=2) * timedelta(seconds=1)
        if middle.astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return high


def at_minute(of_day: int) -> time:
    return time(of_day // 60 % 24, of_day % 60)


def windows_beside(change: Change) -> Iterator[QuietHours]:
    """Write quiet hours that begin, end or both around the change."""
    zone = ZoneInfo(change.zone)
    shown = change.at.astimezone(zone)
    minute = shown.hour * 60 + shown.minute
    for start in (-600, -90, -30, 0, 30, 90):
        for length in (15, 60, 120, 600):
            begin, end = minute + start, minute + start + length
            yield QuietHours(
                start=at_minute(begin % 1440), end=at_minute(end % 1440), zone=zone
            )


def test_no_zone_ends_them_early_or_late_where_its_clock_is_changed() -> None:
    """F50: all IANA zones, 2026 to 2028."""
    every = list(changes(2026, 2028))
    assert len(every) > 100
    for change in every:
        for window in windows_beside(change):
            for minutes in range(-180, 181, 15):
                check(window, change.at + minutes * MINUTE, change)


def check(window: QuietHours, now: datetime, change: Change) -> None:
    until = window.until(now)

    assert (until is not None) == window.cover(now)
    if until is None:
        return
    assert until > now
    assert not window.cover(until), (window, now)
    length = datetime.combine(now, window.end) - datetime.combine(now, window.start)
    set_back = max(-change.by, timedelta(0))
    assert until - now <= length % DAY + set_back, (window, now)
    # The end to the minute, unless the clock has just jumped over it.
    if until.astimezone(window.zone).time() != window.end:
        assert timedelta(0) <= until - change.at < change.by, (window, now)


HANOI = ZoneInfo("Asia/Ho_Chi_Minh")


def window(days: str, start: str, end: str, zone: ZoneInfo = HANOI) -> QuietHours:
    return window_of({"days": days.split(), "start": start, "end": end}, zone=zone)


def hanoi(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=HANOI)


@pytest.mark.parametrize(
    ("at", "until"),
    [
        ("2026-08-20T21:59", None),  # a Thursday
        ("2026-08-20T22:00", "2026-08-21T07:00"),
        ("2026-08-21T06:59", "2026-08-21T07:00"),
        # Friday night runs into the weekend, which is quiet as a whole.
        ("2026-08-21T23:30", "2026-08-24T07:00"),
        ("2026-08-22T12:00", "2026-08-24T07:00"),
        # Sunday's day ends at midnight, and Sunday's night goes on from there.
        ("2026-08-23T12:00", "2026-08-24T07:00"),
        ("2026-08-24T07:00", None),
    ],
)
def test_windows_of_a_week_that_touch_are_one(at: str, until: str | None) -> None:
    week = QuietWeek(
        windows=[
            window("mon tue wed thu fri sun", "22:00", "07:00"),
            window("sat sun", "00:00", "24:00"),
        ],
        zone=HANOI,
    )

    assert week.until(hanoi(at)) == (hanoi(until) if until else None)


def test_a_night_belongs_to_the_day_that_it_begins_on() -> None:
    friday = window("fri", "22:00", "07:00")

    assert friday.cover(hanoi("2026-08-22T06:59"))  # Saturday morning
    assert not friday.cover(hanoi("2026-08-21T06:59"))  # Friday morning
    assert not friday.cover(hanoi("2026-08-22T22:30"))


@pytest.mark.parametrize(
    ("windows", "leaves"),
    [
        ([("mon tue wed thu fri sat sun", "00:00", "24:00")], False),
        ([("mon tue wed thu fri sat sun", "00:00", "23:59")], True),
        ([("mon tue wed thu fri sat sun", "12:00", "11:59")], True),
        (
            [
                ("mon tue wed thu fri sat sun", "12:00", "08:00"),
                ("mon tue wed thu fri sat sun", "08:00", "12:00"),
            ],
            False,
        ),
        ([("sat sun", "00:00", "24:00"), ("mon tue wed thu", "00:00", "24:00")], True),
    ],
)
def test_a_week_without_an_open_minute_is_known(
    windows: list[tuple[str, str, str]], leaves: bool
) -> None:
    assert leaves_a_minute([window(*each) for each in windows]) is leaves


DAY_SETS = st.sets(st.sampled_from(DAYS), min_size=1).map(" ".join)
CLOCKS = st.integers(0, 95).map(lambda n: f"{n // 4:02}:{n % 4 * 15:02}")


@given(
    st.lists(st.tuples(DAY_SETS, CLOCKS, CLOCKS), min_size=1, max_size=4),
    st.integers(0, 3 * 366 * 24 * 4 - 1),
    st.sampled_from(ZONES),
)
def test_a_week_ends_where_no_window_is_and_covers_all_up_to_there(
    drawn: list[tuple[str, str, str]], quarter: int, zone: str
) -> None:
    """F50: any zone, any moment of 2026 to 2028."""
    windows = [
        window(days, start, end, ZoneInfo(zone))
        for days, start, end in drawn
        if start != end
    ]
    assume(windows and leaves_a_minute(windows))
    now = utc("2026-01-01") + quarter * timedelta(minutes=15)

    until = QuietWeek(windows=windows, zone=ZoneInfo(zone)).until(now)

    if until is None:
        assert not any(each.cover(now) for each in windows)
        return
    assert until > now
    assert not any(each.cover(until) for each in windows)
    last = until - timedelta.resolution
    assert any(each.cover(last) for each in windows) or _jumped(until, zone)


def _jumped(moment: datetime, zone: str) -> bool:
    """Tell whether the clock has jumped over something within the hours before."""
    there = ZoneInfo(zone)
    before = (moment - timedelta(hours=3)).astimezone(there).utcoffset()
    return before != moment.astimezone(there).utcoffset()
