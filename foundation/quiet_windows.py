"""Quiet hours as they are asked for and stored: windows of a week.

Of people in JSON; of tenants and regions, where people write them, in lines such as
`mon-fri 21:00-08:00`, `sat,sun 00:00-24:00` and `daily 22:00-07:00`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, time, tzinfo
from functools import lru_cache
from typing import NotRequired, TypedDict

from foundation.quiet_hours import DAYS, QuietHours, QuietWeek, leaves_a_minute

END_OF_DAY = "24:00"
# A time of day.
CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_LINE = re.compile(rf"([a-z,-]+) ({CLOCK})-({CLOCK}|{END_OF_DAY})")
_EVERY_DAY = "daily"


class UnreadableLines(ValueError):
    """These lines are no quiet hours; the message says which one, and why."""


class Window(TypedDict):
    """On which days quiet hours begin, when, and when they end; 24:00 is midnight."""

    days: Sequence[str]
    start: str
    end: str


class StoredQuietHours(TypedDict):
    """The same hours every day, or windows; in the recipient's own time zone where none
    is named."""

    start: NotRequired[str]
    end: NotRequired[str]
    windows: NotRequired[Sequence[Window]]
    time_zone: str | None


def window_of(window: Window, *, zone: tzinfo) -> QuietHours:
    """Read a stored window."""
    start, ends_at = time.fromisoformat(window["start"]), window["end"]
    end = time(0) if ends_at == END_OF_DAY else time.fromisoformat(ends_at)
    return QuietHours(
        start=start,
        end=end,
        zone=zone,
        days=frozenset(DAYS.index(day) for day in window["days"]),
        is_all_day=ends_at == END_OF_DAY and start == time(0),
    )


def read_lines(text: str) -> list[Window]:
    """Read windows, one a line; raise UnreadableLines."""
    windows = [
        _window_in(line, number)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    if not leaves_a_minute([window_of(each, zone=UTC) for each in windows]):
        raise UnreadableLines("They leave no minute of the week for anything.")
    return windows


@lru_cache(maxsize=1_000)
def week_of(text: str, zone: tzinfo) -> QuietWeek | None:
    """Return the windows of lines in a zone; None where there are none."""
    windows = [window_of(each, zone=zone) for each in read_lines(text)]
    return QuietWeek(windows=windows, zone=zone) if windows else None


def _window_in(line: str, number: int) -> Window:
    words = " ".join(line.lower().split())
    found = _LINE.fullmatch(words)
    days = _days_in(found[1]) if found else None
    if found is None or days is None:
        raise UnreadableLines(
            f"Line {number}: write days and hours like mon-fri 21:00-08:00."
        )
    start, end = found[2], found[3]
    if start == end:
        raise UnreadableLines(f"Line {number}: it ends when it starts.")
    return Window(days=days, start=start, end=end)


def _days_in(words: str) -> list[str] | None:
    """Return the days of `sat,sun`, `fri-mon` or `daily`, None if they are none."""
    if words == _EVERY_DAY:
        return list(DAYS)
    days: set[str] = set()
    for word in words.split(","):
        first, dash, last = word.partition("-")
        if first not in DAYS or (dash and last not in DAYS):
            return None
        start = DAYS.index(first)
        length = (DAYS.index(last) - start) % len(DAYS) if dash else 0
        days.update(DAYS[(start + n) % len(DAYS)] for n in range(length + 1))
    return sorted(days, key=DAYS.index)
