"""Tell those who accept which classes get through."""

from __future__ import annotations

import time
from collections.abc import Iterable

from foundation.statements import server_cursor
from notifications.dispatch.settling import Settlement
from notifications.lateness import note_flow
from notifications.outbox import Lane
from providers.base import FAILED
from providers.gateway import Gateway

_EVERY_SECONDS = 1.0


class Flow:
    """The classes whose calls were answered since that was last noted."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._lanes: set[Lane] = set()
        self._noted_at = float("-inf")

    def see(self, batch: Iterable[Settlement]) -> None:
        """Look which calls were answered."""
        self._lanes |= {
            known.lane
            for known in batch
            if known.result is not None
            and known.result.is_called
            and known.result.outcome not in FAILED
        }

    def take(self) -> list[Lane]:
        """Return, once a second, what is to be noted.

        Not the classes of a channel with an account that rests: what is late there may
        be waiting for that one.
        """
        now = time.monotonic()
        if not self._lanes or now - self._noted_at < _EVERY_SECONDS:
            return []
        resting = {
            lane for lane in self._lanes if self._gateway.has_resting(lane.channel)
        }
        taken = list(self._lanes - resting)
        self._lanes, self._noted_at = set(), now
        return taken


def note(lanes: list[Lane]) -> None:
    """Write it down, in a statement of its own."""
    with server_cursor() as cursor:
        note_flow(cursor, lanes)
