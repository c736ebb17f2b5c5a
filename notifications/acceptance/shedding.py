"""Refuse, at once and by class, what would only make everything late."""

from __future__ import annotations

import random
import threading
from collections.abc import Collection
from types import TracebackType

from django.conf import settings

from notifications.lateness import latenesses
from notifications.metrics import observe_shed
from notifications.outbox import Lane
from providers.channels import Channel
from tenants.categories import Priority

# Of SUBMISSIONS_UNDER_WAY: what a class may find there and still come in.
_ROOM = {Priority.NORMAL: 1.0, Priority.LOW: 0.5}
_SHORTEST_WAIT, _LONGEST_WAIT = 5.0, 300.0


class Overloaded(Exception):
    """More is coming than can be done in time; nothing was accepted."""

    def __init__(
        self, reason: str, *, priority: Priority, retry_after: float, channel: str = ""
    ) -> None:
        super().__init__(f"{priority.key.upper()} is refused for now: {reason}.")
        self.priority = priority.key
        self.channel = channel or None
        # Not all at the same moment.
        spread = random.uniform(1, 1.5)  # noqa: S311 - jitter
        self.retry_after = max(round(retry_after * spread), 1)


class _UnderWay:
    """How many submissions this process has in hand."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.number = 0

    def __enter__(self) -> None:
        with self._lock:
            self.number += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self.number -= 1


under_way = _UnderWay()


def at_once() -> int:
    """Return how many submissions are worked on at once; the others wait."""
    in_hand: int = settings.SUBMISSIONS_UNDER_WAY
    return max(in_hand // 4, 1)


def shed_crowd(priority: Priority, *, others: int) -> None:
    """Raise Overloaded if a class may not come in beside so many others.

    Beyond those that are worked on at once each only waits longer. HIGH comes in.
    """
    if priority is Priority.HIGH or others < _room(priority):
        return
    observe_shed(reason="crowd", priority=priority.key)
    raise Overloaded(
        "too many submissions are being worked on", priority=priority, retry_after=1.0
    )


def _room(priority: Priority) -> float:
    most: int = settings.SUBMISSIONS_UNDER_WAY
    return _ROOM[priority] * most


def shed_late(priority: Priority, channels: Collection[Channel]) -> None:
    """Raise Overloaded if a channel sheds this class because it is late.

    LOW is refused once any class of its channel is late, NORMAL once HIGH is, or once
    NORMAL is twice as late as it may be. HIGH is never refused.
    """
    if priority is Priority.HIGH:
        return
    late = latenesses()
    for channel in channels:
        seconds = {each: late.get(Lane(each, channel), 0.0) for each in Priority}
        if _is_late(priority, seconds):
            observe_shed(reason="late", priority=priority.key)
            raise Overloaded(
                f"the channel {channel.key} is late",
                priority=priority,
                channel=channel.key,
                retry_after=_wait(max(seconds.values())),
            )


def _is_late(priority: Priority, seconds: dict[Priority, float]) -> bool:
    limits = settings.LATE_AFTER
    if priority is Priority.LOW:
        return any(seconds[each] > limits[each].total_seconds() for each in Priority)
    return (
        seconds[Priority.HIGH] > limits[Priority.HIGH].total_seconds()
        or seconds[Priority.NORMAL] > 2 * limits[Priority.NORMAL].total_seconds()
    )


def _wait(seconds: float) -> float:
    """Say when to come back: what took so long to build up does not go in a moment."""
    return min(max(seconds / 10, _SHORTEST_WAIT), _LONGEST_WAIT)
