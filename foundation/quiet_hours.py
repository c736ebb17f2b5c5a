"""The hours in which a person is not to be disturbed, by the clock on their wall."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo

# As `date.weekday` counts.
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EVERY_DAY = frozenset(range(len(DAYS)))
_DAY = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """From `start` until just before `end`; over midnight if `end` is the earlier.

    `days` are those on which they begin. From midnight to midnight is all day; never,
    where both are the same otherwise. What counts is what the clock in the zone shows:
    an hour that it shows twice is quiet twice.
    """

    start: time
    end: time
    zone: tzinfo
    days: frozenset[int] = EVERY_DAY
    is_all_day: bool = False

    def cover(self, moment: datetime) -> bool:
        """Tell whether the clock then shows a time to be quiet at."""
        local = moment.astimezone(self.zone)
        shown, today = local.time(), local.weekday()
        if self.start == self.end:
            return self.is_all_day and today in self.days
        if self.start < self.end:
            return self.start <= shown < self.end and today in self.days
        if shown >= self.start:
            return today in self.days
        return shown < self.end and (today - 1) % len(DAYS) in self.days

    def until(self, moment: datetime) -> datetime | None:
        """Return when the quiet hours around a moment end, None outside of them.

        An end that the clock jumps over comes as long after the jump as it lies behind
        the beginning of the gap (RFC 5545): later, never sooner, than it ought to.
        """
        return _end_of([self], moment)

    def next_end(self, moment: datetime) -> datetime:
        """Return when the clock next shows the end, in UTC."""
        shown = moment.astimezone(self.zone)
        day = shown.date()
        if shown.time() >= self.end:
            day += timedelta(days=1)
        # Twice the same moment, but for a time that the clock shows twice or never.
        ends = (
            datetime.combine(day, self.end.replace(fold=fold), self.zone)
            for fold in (0, 1)
        )
        return min(
            each for each in (end.astimezone(UTC) for end in ends) if each > moment
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietWeek:
    """Several windows in one zone; where they overlap or touch, they are one."""

    windows: Sequence[QuietHours]
    zone: tzinfo

    def until(self, moment: datetime) -> datetime | None:
        """Return when all the windows around a moment have ended, None outside."""
        return _end_of(self.windows, moment)


def leaves_a_minute(windows: Collection[QuietHours]) -> bool:
    """Tell whether some minute of the week is not quiet; without one nothing could ever
    be sent, and no end be found."""
    quiet = bytearray(len(DAYS) * _DAY)
    for window in windows:
        start, end = _minute(window.start), _minute(window.end)
        length = _DAY if window.is_all_day else (end - start) % _DAY
        for day in window.days:
            for minute in range(day * _DAY + start, day * _DAY + start + length):
                quiet[minute % len(quiet)] = 1
    return not all(quiet)


def _minute(shown: time) -> int:
    return shown.hour * 60 + shown.minute


def _end_of(windows: Collection[QuietHours], moment: datetime) -> datetime | None:
    end, is_quiet = moment.astimezone(UTC), False
    while around := [window for window in windows if window.cover(end)]:
        end, is_quiet = around[0].next_end(end), True
    return end if is_quiet else None
