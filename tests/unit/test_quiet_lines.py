from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from foundation.quiet_windows import UnreadableLines, read_lines, week_of

EVERY = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


@pytest.mark.parametrize(
    ("line", "days", "hours"),
    [
        ("daily 22:00-07:00", EVERY, ("22:00", "07:00")),
        ("mon-fri 21:00-08:00", EVERY[:5], ("21:00", "08:00")),
        ("fri-mon 00:00-24:00", ["mon", "fri", "sat", "sun"], ("00:00", "24:00")),
        (" Sat,SUN   09:30-12:00 ", ["sat", "sun"], ("09:30", "12:00")),
        ("wed 23:59-00:00", ["wed"], ("23:59", "00:00")),
        ("mon,wed-thu 01:00-02:00", ["mon", "wed", "thu"], ("01:00", "02:00")),
    ],
)
def test_a_line_is_days_and_hours(
    line: str, days: list[str], hours: tuple[str, str]
) -> None:
    start, end = hours

    assert read_lines(f"\n{line}\n\n") == [{"days": days, "start": start, "end": end}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("22:00-07:00", "Line 1"),
        ("daily 22-07", "Line 1"),
        ("daily 24:00-07:00", "Line 1"),
        ("daily 22:00 - 07:00", "Line 1"),
        ("daily 22:60-07:00", "Line 1"),
        ("monday 22:00-07:00", "Line 1"),
        ("mon- 22:00-07:00", "Line 1"),
        ("mon,,tue 22:00-07:00", "Line 1"),
        ("mon-tue-wed 22:00-07:00", "Line 1"),
        ("daily 22:00-07:00\n\nsun 7-8", "Line 3"),
        ("daily 07:00-07:00", "Line 1: it ends"),
        ("daily 00:00-24:00", "no minute"),
        ("daily 08:00-22:00\ndaily 22:00-08:00", "no minute"),
    ],
)
def test_what_is_none_is_named_by_its_line(text: str, told: str) -> None:
    with pytest.raises(UnreadableLines, match=told):
        read_lines(text)


def test_no_lines_are_no_quiet_hours() -> None:
    assert read_lines("") == []
    assert week_of("\n", UTC) is None


def test_lines_are_read_by_the_clock_of_the_zone() -> None:
    week = week_of("mon-fri 21:00-08:00\nsat,sun 00:00-24:00", ZoneInfo("Asia/Tokyo"))

    assert week is not None
    # Friday 20:59 and 21:00 in Tokyo; the night is followed by the weekend.
    assert week.until(datetime(2026, 11, 27, 11, 59, tzinfo=UTC)) is None
    monday = datetime(2026, 11, 29, 15, tzinfo=UTC)
    assert week.until(datetime(2026, 11, 27, 12, tzinfo=UTC)) == monday
