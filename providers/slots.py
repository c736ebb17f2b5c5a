"""So many calls at once, and nobody waits for a turn longer than a limit."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple


class _Waiter(NamedTuple):
    deadline: float
    turn: asyncio.Future[bool]


class Slots:
    """A semaphore of one event loop, first come, first served.

    As all wait equally long, one timer, of whoever came first, does for all of them:
    a busy account's calls nearly all have to wait.
    """

    def __init__(self, number: int, *, patience: float) -> None:
        self._free = number
        self._patience = patience
        self._waiting: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_full(self) -> bool:
        """Tell whether the next one would have to wait."""
        return not self._free

    async def take(self) -> bool:
        """Wait for a slot and take it; False, without one, after `patience` seconds."""
        if self._free:
            self._free -= 1
            return True
        loop = asyncio.get_running_loop()
        waiter = _Waiter(loop.time() + self._patience, loop.create_future())
        self._waiting.append(waiter)
        if self._timer is None:
            self._timer = loop.call_at(waiter.deadline, self._turn_away)
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            # It may have got its turn a moment before.
            turn = waiter.turn
            if turn.done() and not turn.cancelled() and turn.result():
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back: to whoever has waited longest, if anybody does."""
        while self._waiting:
            turn = self._waiting.popleft().turn
            if not turn.done():
                turn.set_result(True)
                return
        self._free += 1

    def _turn_away(self) -> None:
        """Let those go whose time is up; come back for the next."""
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._waiting and (
            self._waiting[0].turn.done() or self._waiting[0].deadline <= loop.time()
        ):
            turn = self._waiting.popleft().turn
            if not turn.done():
                turn.set_result(False)
        if self._waiting:
            self._timer = loop.call_at(self._waiting[0].deadline, self._turn_away)
