"""Quiet hours as they are asked for and stored: windows of a week, in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import time, tzinfo
from typing import NotRequired, TypedDict

from preferences.quiet_hours import DAYS, QuietHours

END_OF_DAY = "24:00"


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
