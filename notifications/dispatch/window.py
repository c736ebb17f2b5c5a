"""How much a consumer holds, and how much more it may claim.

The window bounds its memory. One channel whose provider hangs fills at most half of it,
and a fifth of everything is kept for HIGH: an OTP does not wait until a campaign has
made room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from notifications.outbox import Lane
from notifications.transport.base import Room, Subscription
from tenants.categories import Priority

_KEPT_FOR_HIGH = 5
# A claim for a handful costs as much as one for many.
_LEAST_ROOM = 10


class Window:
    """Counts deliveries between claim and settlement, by lane."""

    def __init__(self, size: int, *, subscription: Subscription) -> None:
        channels, priorities = subscription.channels, subscription.priorities
        self._lanes = subscription.lanes
        self._size = size
        self._of_channel = max(size // 2, 1) if len(channels) > 1 else size
        self._least = max(size // _LEAST_ROOM, 1)
        self._is_mixed = Priority.HIGH in priorities and len(priorities) > 1
        self._held: Counter[Lane] = Counter()

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is held."""
        return not self._held.total()

    @property
    def is_full(self) -> bool:
        """Tell whether a claim is not worth its while."""
        left = self._size - self._held.total()
        return left < self._least or not any(
            self._room_of(lane) > 0 for lane in self._lanes
        )

    def room(self, *, at_most: int | None = None) -> Room:
        """Say what may be claimed now."""
        left = self._size - self._held.total()
        total = left if at_most is None else min(left, at_most)
        held_beside = sum(self._held[lane] for lane in self._held if not lane.is_high)
        beside_high = self._beside_high(self._size) - held_beside
        if beside_high < self._least:
            beside_high = 0
        return Room(
            total=total,
            beside_high=min(beside_high, total),
            by_lane={lane: self._room_of(lane) for lane in self._lanes},
        )

    def take(self, lane: Lane) -> None:
        """Hold one more."""
        self._held[lane] += 1

    def release(self, lanes: Collection[Lane]) -> None:
        """Let settled ones go."""
        self._held.subtract(lanes)

    def _room_of(self, lane: Lane) -> int:
        held = [known for known in self._held if known.channel is lane.channel]
        room = self._of_channel - sum(self._held[known] for known in held)
        if lane.is_high:
            return max(room, 0)
        beside = sum(self._held[known] for known in held if not known.is_high)
        return max(min(room, self._beside_high(self._of_channel) - beside), 0)

    def _beside_high(self, size: int) -> int:
        return size - max(size // _KEPT_FOR_HIGH, 1) if self._is_mixed else size
