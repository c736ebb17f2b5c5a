"""Book slots in time: from all workers' common book in Valkey, or from one's own share.

Nothing here waits long or fails. While Valkey is away, full, read-only or paused, each
worker keeps to its part of the quota by itself: how many there are it knows of before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import structlog

from providers import valkey
from providers.quotas.allowances import Allowance
from tenants.categories import Priority

log = structlog.get_logger(__name__)

_BOOK = (Path(__file__).parent / "book.lua").read_text()
# One failure may be our own standing still; then a breath, and another try.
_FAILURES, _BREATH_SECONDS = 2, 0.02
_ASK_AGAIN_SECONDS = 1.0
# What others may have booked in common when somebody begins to go by himself.
_BOOKED_SECONDS = 0.2
_MEMBERS_SECONDS = 60.0
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Booked:
    """Slots, in seconds of this process's monotonic clock; without any, how long to
    wait before asking again."""

    slots: Sequence[float] = ()
    wait: float = 0.0


class Booking:
    """One worker's way to the book; for one event loop."""

    def __init__(self, *, url: str, expected_workers: int, prefix: str = "") -> None:
        """Take so many workers for granted until Valkey has said how many there are.

        All keys begin with `prefix`, where several platforms share a Valkey.
        """
        self._prefix = prefix
        self._valkey = valkey.connect(url)
        self._script = self._valkey.register_script(_BOOK)
        self._name = uuid4().hex
        self._members = Members(expected_workers)
        self._clock = ServersClock()
        self._own = OwnShare()
        self._failures = 0
        self._own_until = 0.0
        self._probe: asyncio.Task[None] | None = None

    async def book(
        self, allowance: Allowance, *, number: int, part: float = 1.0
    ) -> Booked:
        """Book up to `number` slots, at this part of every limit."""
        now = time.monotonic()
        if self._failures < _FAILURES:
            # Others may be by themselves still: for a while both limits count.
            if now < self._own_until:
                own = self._book_own(allowance, number=number, part=part)
                if not own.slots:
                    return own
                number = len(own.slots)
            return await self._book_in_common(allowance, number=number, part=part)
        if self._probe is None and now >= self._own_until:
            self._probe = asyncio.create_task(self._ask_whether_back())
        return self._book_own(allowance, number=number, part=part)

    async def aclose(self) -> None:
        """Close the connection."""
        if self._probe is not None:
            self._probe.cancel()
            await asyncio.gather(self._probe, return_exceptions=True)
        await self._valkey.aclose()

    def _book_own(self, allowance: Allowance, *, number: int, part: float) -> Booked:
        now = time.monotonic()
        members = self._members.of(allowance.account, now=now) / part
        return self._own.book(allowance, number=number, members=members, now=now)

    async def _book_in_common(
        self, allowance: Allowance, *, number: int, part: float
    ) -> Booked:
        asked_at = time.monotonic()
        try:
            answer = await self._script(
                keys=_keys(allowance, self._prefix),
                args=[
                    self._name,
                    number,
                    int(allowance.seconds_ahead * _MICROSECONDS),
                    int(allowance.priority is Priority.HIGH),
                    *(
                        _MICROSECONDS / (limit.per_second * part)
                        for limit in allowance.limits
                    ),
                ],
            )
        except valkey.AWAY as failed:
            self._note_failure(failed)
            return Booked(wait=_BREATH_SECONDS)
        self._failures = 0
        booked, start, now, wait, members = answer
        received_at = time.monotonic()
        self._members.note(allowance.account, members, now=received_at)
        self._clock.note(now / _MICROSECONDS, after=asked_at, before=received_at)
        first = self._clock.local(start / _MICROSECONDS)
        return Booked(
            slots=[
                first + n / (allowance.pace.per_second * part) for n in range(booked)
            ],
            wait=wait / _MICROSECONDS,
        )

    def _note_failure(self, failed: Exception) -> None:
        self._failures += 1
        if self._failures == _FAILURES:
            log.warning("quota_book_away", error=type(failed).__name__)
            now = time.monotonic()
            self._own = OwnShare(begins=now + _BOOKED_SECONDS)
            self._own_until = now + _ASK_AGAIN_SECONDS

    async def _ask_whether_back(self) -> None:
        """Write something: a server that is full or read-only is no use either."""
        try:
            await self._valkey.set(f"{self._prefix}quota:probe", self._name, px=1_000)
        except valkey.AWAY:
            pass
        else:
            log.info("quota_book_back")
            self._failures = 0
        finally:
            self._own_until = time.monotonic() + _ASK_AGAIN_SECONDS
            self._probe = None


def _keys(allowance: Allowance, prefix: str) -> list[str]:
    """Name what a booking reads and writes; the braces keep it on one node."""
    limits = (limit.name for limit in allowance.limits)
    account = f"{prefix}quota:{{{allowance.account}}}:"
    return [account + name for name in ("known", "members", "starving", *limits)]


class ServersClock:
    """The server's clock in terms of our own, as near as answers tell.

    An answer was written between asking and receiving; the nearest of all that fit is
    kept, so that slots do not shift with how long an answer takes.
    """

    def __init__(self) -> None:
        self._offset: float | None = None

    def note(self, server: float, *, after: float, before: float) -> None:
        """Take what its clock showed between two moments of ours."""
        earliest, latest = after - server, before - server
        known = latest if self._offset is None else self._offset
        self._offset = min(max(known, earliest), latest)

    def local(self, server: float) -> float:
        """Say when by our clock its clock shows this."""
        return server + (self._offset or 0.0)


class Members:
    """How many workers share each account: the most of the last minute."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._known: dict[str, tuple[int, float]] = {}

    def note(self, account: str, number: int, *, now: float) -> None:
        """Take what the book says."""
        known, until = self._known.get(account, (0, 0.0))
        if number >= known or now >= until:
            self._known[account] = number, now + _MEMBERS_SECONDS

    def of(self, account: str, *, now: float) -> int:
        """Return how many to reckon with, however long ago that was."""
        number, _ = self._known.get(account, (self._expected, now))
        return number


class OwnShare:
    """A book of one's own: every limit divided by the number of workers."""

    def __init__(self, *, begins: float = 0.0) -> None:
        self._begins = begins
        self._free: dict[tuple[str, str], float] = {}

    def book(
        self, allowance: Allowance, *, number: int, members: float, now: float
    ) -> Booked:
        """Book up to `number` slots of this worker's share, at monotonic time `now`."""
        limits = {
            (allowance.account, limit.name): members / limit.per_second
            for limit in (allowance.pace, *allowance.others)
        }
        free = {
            key: max(self._free.get(key, self._begins), self._begins, now)
            for key in limits
        }
        ends = now + allowance.seconds_ahead
        for key, each in limits.items():
            number = min(number, int((ends - free[key]) // each) + 1)
        if number < 1:
            return Booked(wait=max(free.values()) - ends + allowance.seconds_ahead / 2)
        pace = (allowance.account, allowance.pace.name)
        first, each = free[pace], limits[pace]
        for key, of_one in limits.items():
            self._free[key] = free[key] + number * of_one
        return Booked(slots=[first + n * each for n in range(number)])
