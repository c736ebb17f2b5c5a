"""Who gets how much of one claim: the higher classes first, LOW always a tenth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from notifications.outbox import Lane
from notifications.transport.base import Room, Subscription
from providers.channels import Channel
from tenants.categories import Priority

# LOW is never starved: a tenth of every batch is kept for it.
_LOW_SHARE = 10


class Sharing:
    """Divides the room of a subscription, beginning with another channel each time."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._turn = 0

    def divide(
        self,
        *,
        room: Room,
        take: Callable[[Lane, int], int],
    ) -> None:
        """Offer every lane what it may have; `take` says how many it took of that."""
        left, beside_high = room.total, room.beside_high
        taken: Counter[Channel] = Counter()
        for priority in sorted(self._subscription.priorities):
            is_high = priority is Priority.HIGH
            free = self._room_for(priority, left if is_high else min(left, beside_high))
            for channel in self._channels_in_turn():
                lane = Lane(priority, channel)
                of_channel = room.by_lane[lane] - taken[channel]
                most = min(free, self._room_for(priority, of_channel))
                if most <= 0:
                    continue
                number = take(lane, most)
                free -= number
                left -= number
                taken[channel] += number
                beside_high -= 0 if is_high else number
        self._turn += 1

    def _room_for(self, priority: Priority, room: int) -> int:
        if room <= 0:
            return 0
        low_is_served = Priority.LOW in self._subscription.priorities
        if priority is Priority.LOW or not low_is_served:
            return room
        return room - min(max(room // _LOW_SHARE, 1), room - 1)

    def _channels_in_turn(self) -> Iterator[Channel]:
        """Begin with another channel each time, so that none fills every batch."""
        channels = self._subscription.channels
        first = self._turn % len(channels)
        yield from channels[first:]
        yield from channels[:first]
