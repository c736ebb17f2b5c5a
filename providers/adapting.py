"""How much an account bears, learnt from its answers: less at once when it refuses, and
a little more as long as it does not (AIMD).

The configured RATE and CONCURRENCY are ceilings. Each worker learns by itself.
"""

from __future__ import annotations

_DECREASE = 0.9


class AdaptiveRate:
    """The part of its quota that an account takes without refusing calls."""

    _LEAST = 0.02
    # Calls on their way were begun at the old rate: they say nothing about the new one.
    _DECREASE_EVERY_SECONDS = 0.1
    _INCREASE_AFTER_SECONDS = 0.5
    _INCREASE_PER_SECOND = 0.02

    def __init__(self) -> None:
        self.part = 1.0
        self._changed_at = float("-inf")
        self._decreased_at = float("-inf")

    def refused(self, *, now: float) -> None:
        """Take note of a call that was one too many, at monotonic time `now`."""
        if now - self._decreased_at >= self._DECREASE_EVERY_SECONDS:
            self.part = max(self.part * _DECREASE, self._LEAST)
            self._decreased_at = self._changed_at = now

    def answered(self, *, now: float) -> None:
        """Take note of a call that was let in."""
        if self.part == 1.0 or now - self._decreased_at < self._INCREASE_AFTER_SECONDS:
            return
        elapsed = min(now - self._changed_at, 1.0)
        self.part = min(self.part + elapsed * self._INCREASE_PER_SECOND, 1.0)
        self._changed_at = now


class AdaptivePlaces:
    """How many calls at the same time an account answers in time."""

    _DECREASE_EVERY_SECONDS = 0.25
    _INCREASE_AFTER_SECONDS = 1.0

    def __init__(self, ceiling: int) -> None:
        self._ceiling = ceiling
        self._limit = float(ceiling)
        self._decreased_at = float("-inf")

    @property
    def number(self) -> int:
        """Return the number of places now, 1 at the least."""
        return int(self._limit)

    def overloaded(self, *, now: float) -> None:
        """Take note of a call that failed or is slow, at monotonic time `now`."""
        if now - self._decreased_at >= self._DECREASE_EVERY_SECONDS:
            self._limit = max(self._limit * _DECREASE, 1.0)
            self._decreased_at = now

    def answered(self, *, was_full: bool, now: float) -> None:
        """Take note of a good answer; with all places taken it makes room for more: one
        more place for every round of calls."""
        if (
            was_full
            and self._limit < self._ceiling
            and now - self._decreased_at >= self._INCREASE_AFTER_SECONDS
        ):
            self._limit = min(self._limit + 1 / self._limit, self._ceiling)
