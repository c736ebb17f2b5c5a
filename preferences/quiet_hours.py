"""The hours in which a person is not to be disturbed, by the clock on their wall."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """From `start` until just before `end`; over midnight if `end` is the earlier.

    Never, where both are the same. What counts is what the clock in the zone shows: an
    hour that it shows twice is quiet twice.
    """

    start: time
    end: time
    zone: tzinfo

    def cover(self, moment: datetime) -> bool:
        """Tell whether the clock then shows a time to be quiet at."""
        shown = moment.astimezone(self.zone).time()
        if self.start <= self.end:
            return self.start <= shown < self.end
        return shown >= self.start or shown < self.end

    def until(self, moment: datetime) -> datetime | None:
        """Return when the quiet hours around a moment end, None outside of them.

        An end that the clock jumps over comes as long after the jump as it lies behind
        the beginning of the gap (RFC 5545): later, never sooner, than it ought to.
        """
        end = moment.astimezone(UTC)
        if not self.cover(end):
            return None
        while self.cover(end):
            end = self._next_end(end)
        return end

    def _next_end(self, moment: datetime) -> datetime:
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
