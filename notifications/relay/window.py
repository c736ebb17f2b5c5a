"""How far publishing may run ahead of the consumers.

What lies in a topic is decided: its order, its tenants' shares, whether a kill switch
or a cancellation still comes in time. So only about twenty seconds of what the
consumers drain are published, and the rest waits in the outbox.
"""

from __future__ import annotations

AHEAD_SECONDS = 20.0
LEAST, MOST = 2_000, 50_000
# How much of a newly measured rate counts, against what was known before.
_WEIGHT = 0.3


class Window:
    """The published and unclaimed records that one lane may have."""

    def __init__(self) -> None:
        self._rate = 0.0
        self._unclaimed = 0
        self._published = 0
        self._measured_at: float | None = None

    @property
    def size(self) -> int:
        """Return how many may be published and unclaimed at one time."""
        return int(min(max(self._rate * AHEAD_SECONDS, LEAST), MOST))

    @property
    def room(self) -> int:
        """Return how many more may be published now."""
        return max(self.size - self._unclaimed - self._published, 0)

    def published(self, number: int) -> None:
        """Count what was published since the last measurement."""
        self._published += number

    def measured(self, unclaimed: int, *, at: float) -> None:
        """Take a count of published and unclaimed records; `at` in seconds, monotonic.

        A topic that was never full says nothing about how fast it could be drained;
        the rate then only grows.
        """
        if self._measured_at is not None and at > self._measured_at:
            drained = self._unclaimed + self._published - unclaimed
            rate = max(drained, 0) / (at - self._measured_at)
            if rate > self._rate or unclaimed:
                self._rate += _WEIGHT * (rate - self._rate)
        self._unclaimed, self._published, self._measured_at = unclaimed, 0, at
