"""Whose turn it is to call an account: so many at once, and so many a second.

A call waits in its class's line until the account has a place and the line a permit, no
longer than a limit. HIGH goes first, and every tenth turn is LOW's.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from providers.quotas.allowances import Allowance
from providers.quotas.booking import Booking
from tenants.categories import Priority

# A slot that was missed by more is let go: made good later, calls would bunch.
LATE_SECONDS = 0.015
# Timers go by whole milliseconds.
_EARLY_SECONDS = 0.001
_BOOK_AT_ONCE = 50
# Not sooner: a full book has room only for what has just been used up.
_BOOK_BEFORE_SECONDS = 0.003
_AFTER_A_BUG_SECONDS = 0.5
_LOW_TURN = 10
_MANY_LINES = 64


class Turn(Enum):
    """How waiting for a turn ended."""

    GIVEN = auto()
    NO_PLACE = auto()
    NO_PERMIT = auto()
    # Everybody is held back.
    HELD = auto()


@dataclass(slots=True)
class _Waiter:
    # Rather goes away than wait while everybody is held back.
    leaves: bool
    deadline: float
    turn: asyncio.Future[Turn]


@dataclass(slots=True)
class _Line:
    """The calls that wait under one allowance, and the slots booked for them."""

    allowance: Allowance | None
    waiting: deque[_Waiter] = field(default_factory=deque)
    slots: deque[float] = field(default_factory=deque)
    asking: asyncio.Task[None] | None = None
    is_resting: bool = False

    @property
    def is_waited_for(self) -> bool:
        """Tell whether somebody still waits."""
        while self.waiting and self.waiting[0].turn.done():
            self.waiting.popleft()
        return bool(self.waiting)

    @property
    def number_waiting(self) -> int:
        """Return how many still wait."""
        return sum(not waiter.turn.done() for waiter in self.waiting)

    def is_over(self, now: float) -> bool:
        """Tell whether nothing would be lost with it."""
        is_idle = self.asking is None and not self.is_resting
        has_slots = bool(self.slots) and self.slots[-1] >= now - LATE_SECONDS
        return is_idle and not has_slots and not self.is_waited_for

    def has_turn(self, now: float) -> bool:
        """Tell whether somebody waits for whom there is a permit; use that up."""
        if not self.is_waited_for:
            return False
        if self.allowance is None:
            return True
        while self.slots and self.slots[0] < now - LATE_SECONDS:
            self.slots.popleft()
        if not self.slots or self.slots[0] > now + _EARLY_SECONDS:
            return False
        self.slots.popleft()
        return True

    def is_running_out(self, now: float) -> bool:
        """Tell whether more slots are wanted, soon."""
        return (
            self.asking is None
            and not self.is_resting
            and len(self.waiting) > len(self.slots)
            and (not self.slots or self.slots[-1] - now < _BOOK_BEFORE_SECONDS)
        )

    def turn_away(self, *, until: float, ended: Turn) -> None:
        """Let those go whose deadline has come."""
        while self.waiting and (
            self.waiting[0].turn.done() or self.waiting[0].deadline <= until
        ):
            waiter = self.waiting.popleft()
            if not waiter.turn.done():
                waiter.turn.set_result(ended)

    def turn_away_who_leaves(self, *, most: int | None) -> int:
        """Let those go who do not wait while the account is held, and whoever is one
        too many; return how many stay."""
        staying = 0
        for waiter in self.waiting:
            if waiter.turn.done():
                continue
            if waiter.leaves or (most is not None and staying >= most):
                waiter.turn.set_result(Turn.HELD)
            else:
                staying += 1
        return staying


class Turns:
    """The turns of one account on one event loop."""

    def __init__(
        self, places: int, *, patience: float, booking: Booking | None = None
    ) -> None:
        self.places = self._free = places
        self._patience = patience
        # The part of the quota to keep to; what is booked from now on obeys it.
        self.part_of_quota = 1.0
        # Whom a held account still lets through; None while it is not held.
        self._let_through: int | None = None
        # How many may wait while it is held; None: any number.
        self.most_held: int | None = None
        self._booking = booking
        self._lines: dict[tuple[Priority, Allowance | None], _Line] = {}
        self._given = 0
        self._is_closed = False
        self._next_slot: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._next_deadline: asyncio.TimerHandle | None = None

    @property
    def is_full(self) -> bool:
        """Tell whether all places are taken."""
        return self._free <= 0

    @property
    def is_waited_for(self) -> bool:
        """Tell whether somebody waits."""
        return any(line.is_waited_for for line in self._lines.values())

    async def take(
        self,
        priority: Priority = Priority.NORMAL,
        allowance: Allowance | None = None,
        *,
        leaves: bool = False,
    ) -> Turn:
        """Wait for a turn; whoever is given one has to release it.

        Who `leaves` rather goes elsewhere than wait for a held account.
        """
        if self._let_through == 0 and (leaves or self.is_crowded(priority)):
            return Turn.HELD
        if self._free > 0 and self._let_through is None and allowance is None:
            # Without limits nobody waits while there is a place.
            self._free -= 1
            return Turn.GIVEN
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience
        waiter = _Waiter(leaves, deadline, loop.create_future())
        self._line(priority, allowance).waiting.append(waiter)
        if self._next_deadline is None:
            self._next_deadline = loop.call_at(waiter.deadline, self._turn_away)
        self._go_on()
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            # It may have got its turn a moment before.
            turn = waiter.turn
            if turn.done() and not turn.cancelled() and turn.result() is Turn.GIVEN:
                self.release()
            raise

    def release(self) -> None:
        """Give a place back: to whoever is next."""
        self._free += 1
        self._go_on()

    def resize(self, places: int) -> None:
        """Change how many calls may run at once; those that run are left alone."""
        self._free += places - self.places
        self.places = places

    def hold(self) -> None:
        """Give no more turns."""
        self._let_through = 0
        self._turn_away_who_leaves()

    def let_one_through(self) -> None:
        """Give one turn although the account is held."""
        if self._let_through is not None:
            self._let_through = 1
            self._go_on()

    def resume(self) -> None:
        """Give turns again."""
        self._let_through = None
        self._go_on()

    @property
    def number_waiting(self) -> int:
        """Return how many wait."""
        return sum(line.number_waiting for line in self._lines.values())

    def is_crowded(self, priority: Priority) -> bool:
        """Tell whether no more of this class should wait: HIGH always may."""
        if self.most_held is None or priority is Priority.HIGH:
            return False
        return self.number_waiting >= self.most_held

    def _turn_away_who_leaves(self) -> None:
        left = self.most_held
        for (priority, _), line in self._lines.items():
            most = None if priority is Priority.HIGH else left
            staying = line.turn_away_who_leaves(most=most)
            left = None if left is None else max(left - staying, 0)

    @property
    def has_one_to_let_through(self) -> bool:
        """Tell whether a held account waits for somebody to let through."""
        return bool(self._let_through)

    @property
    def _may_go_on(self) -> bool:
        return self._free > 0 and self._let_through != 0

    async def aclose(self) -> None:
        """Ask for no more slots; nobody may be waiting."""
        self._is_closed = True
        asking = [line.asking for line in self._lines.values() if line.asking]
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    def _line(self, priority: Priority, allowance: Allowance | None) -> _Line:
        key = priority, allowance
        line = self._lines.get(key)
        if line is None:
            lines = self._lines
            if len(lines) >= _MANY_LINES:
                # With a limit for each tenant there is no end of them.
                now = time.monotonic()
                lines = {
                    each: one for each, one in lines.items() if not one.is_over(now)
                }
            line = lines[key] = _Line(allowance)
            self._lines = dict(sorted(lines.items(), key=lambda item: item[0][0]))
        return line

    def _go_on(self) -> None:
        """Give all turns that can be given now, and see that it goes on."""
        now = time.monotonic()
        while self._may_go_on and (line := self._next_line(now)) is not None:
            line.waiting.popleft().turn.set_result(Turn.GIVEN)
            self._free -= 1
            self._given += 1
            if self._let_through:
                self._let_through -= 1
                self._turn_away_who_leaves()
        if self._may_go_on:
            self._look_ahead(now)

    def _next_line(self, now: float) -> _Line | None:
        lines: Iterable[_Line] = self._lines.values()
        if self._let_through is not None:
            lines = self._by_least_harm()
        elif self._given % _LOW_TURN == _LOW_TURN - 1:
            lines = reversed(self._lines.values())
        return next((line for line in lines if line.has_turn(now)), None)

    def _by_least_harm(self) -> Iterable[_Line]:
        """Put last whose call had better not end without an answer: a second code or
        one advertisement less does little harm."""
        lines = sorted(
            self._lines.items(), key=lambda item: item[0][0] is Priority.NORMAL
        )
        return (line for _, line in lines)

    def _look_ahead(self, now: float) -> None:
        """Book what will be needed, and come back for the next slot."""
        next_slot = None
        for line in self._lines.values():
            if not line.waiting:
                continue
            if line.is_running_out(now):
                line.asking = self._ask(line)
            if line.slots and (next_slot is None or line.slots[0] < next_slot):
                next_slot = line.slots[0]
        if next_slot == self._next_slot:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._next_slot, self._timer = next_slot, None
        if next_slot is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(next_slot - now, 0), self._slot_has_come)

    def _ask(self, line: _Line) -> asyncio.Task[None] | None:
        if self._booking is None or line.allowance is None or self._is_closed:
            return None
        return asyncio.create_task(
            self._book(line, booking=self._booking, allowance=line.allowance)
        )

    def _slot_has_come(self) -> None:
        self._next_slot = self._timer = None
        self._go_on()

    async def _book(
        self, line: _Line, *, booking: Booking, allowance: Allowance
    ) -> None:
        """Book slots for a line, or wait until there may be some."""
        wait = _AFTER_A_BUG_SECONDS
        try:
            booked = await booking.book(
                allowance, number=self._wanted(line), part=self.part_of_quota
            )
            line.slots.extend(booked.slots)
            # Not all at the same moment; a little, or slow accounts would lose permits.
            most = min(booked.wait / 4, allowance.seconds_ahead / 2)
            wait = booked.wait + random.uniform(0, most)  # noqa: S311
        finally:
            line.asking = None
            if wait:
                line.is_resting = True
                asyncio.get_running_loop().call_later(wait, self._ask_again, line)
            else:
                self._go_on()

    def _ask_again(self, line: _Line) -> None:
        line.is_resting = False
        self._go_on()

    def _wanted(self, line: _Line) -> int:
        """Say how many slots a line can use: not for calls that will find no place."""
        most = _BOOK_AT_ONCE if self._let_through is None else self._let_through
        return max(min(len(line.waiting) - len(line.slots), 2 * self._free, most), 1)

    def _turn_away(self) -> None:
        """Let those go whose time is up; come back for the next."""
        loop = asyncio.get_running_loop()
        self._next_deadline = None
        ended = Turn.NO_PLACE if self.is_full else Turn.NO_PERMIT
        if self._let_through is not None:
            ended = Turn.HELD
        deadlines = []
        for line in self._lines.values():
            line.turn_away(until=loop.time(), ended=ended)
            if line.waiting:
                deadlines.append(line.waiting[0].deadline)
        if deadlines:
            self._next_deadline = loop.call_at(min(deadlines), self._turn_away)
