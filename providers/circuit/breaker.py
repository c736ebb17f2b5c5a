"""One account's breaker as one worker knows it: watch calls, report, hold them back."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from itertools import count

import structlog

from providers import valkey
from providers.circuit.board import Board, BreakerPolicy, Decision, Report
from providers.metrics import BREAKER_OPEN
from providers.turns import Turns

log = structlog.get_logger(__name__)

# How soon after a failure all others are told, and how often while all goes well.
_SOON_SECONDS = 0.1
_CALM_SECONDS = 2.0
# While it is open: another worker's probe may close it at any time.
_OPEN_SECONDS = 0.5
_SETTLING_SECONDS = 1.0
_WANTED_SECONDS = 5.0
_STALE_SECONDS = 10.0


class CircuitBreaker:
    """Counts how calls go, and lets an account rest while they go badly.

    All workers decide together, on the board. While that cannot be reached, what is
    closed stays closed, and what is open each worker probes by itself.
    """

    def __init__(
        self,
        alias: str,
        *,
        policy: BreakerPolicy,
        timeout: float,
        board: Board,
        turns: Turns,
        on_slow: Callable[[], None],
    ) -> None:
        slow_after = policy.slow_after
        self._alias = alias
        self._policy = policy
        self._slow_after = slow_after.total_seconds() if slow_after else timeout / 2
        self._probe_life = timeout + _SETTLING_SECONDS
        self._board = board
        self._turns = turns
        self._metric = BREAKER_OPEN.labels(alias)
        self._numbers = count()
        self._running: dict[int, float] = {}
        self._well = self._badly = 0
        self._probe: int | None = None
        self._is_probe_next = False
        self._probe_went = ""
        self._next_own_probe = 0.0
        self._wanted_until = 0.0
        self._is_known = asyncio.Event()
        self._reported_at = float("-inf")
        self._failures = 0
        self._report_at = float("inf")
        self._timer: asyncio.TimerHandle | None = None
        self._reporting: asyncio.Task[None] | None = None
        self._on_slow = on_slow
        self.is_open = False

    async def get_to_know(self) -> None:
        """Ask how the account stands before the first call, and after a long rest: who
        comes during an outage must not find out by himself."""
        if time.monotonic() - self._reported_at > _STALE_SECONDS:
            self._is_known.clear()
        if not self._is_known.is_set():
            self._report_within(0)
            await self._is_known.wait()

    def begin(self) -> int:
        """Watch a call from now on; return its number."""
        number = next(self._numbers)
        self._running[number] = time.monotonic()
        if self._is_probe_next:
            self._probe, self._is_probe_next = number, False
        self._report_within(_CALM_SECONDS)
        return number

    def end(self, number: int, *, is_bad: bool) -> None:
        """Count how it went: whatever is an answer in time is good."""
        begun = self._running.pop(number, None)
        # Otherwise counted as slow, or begun before the account was well again.
        if begun is not None:
            is_slow = time.monotonic() - begun >= self._slow_after
            self._count(number, is_bad=is_bad or is_slow)
            if is_slow:
                self._on_slow()

    def want(self) -> None:
        """Take note that somebody would have come, had it not been open."""
        self._wanted_until = time.monotonic() + _WANTED_SECONDS

    @property
    def is_resting(self) -> bool:
        """Tell whether it is no use to come: open, and nobody needed as a probe."""
        return self.is_open and not self._turns.has_one_to_let_through

    @property
    def is_probing(self) -> bool:
        """Tell whether one call is needed as a probe."""
        return self.is_open and self._turns.has_one_to_let_through

    def let_another_probe(self) -> None:
        """Let the next in line try: who had the turn made no call after all."""
        if self.is_open and self._is_probe_next:
            self._turns.let_one_through()

    async def aclose(self) -> None:
        """Report no more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._reporting is not None:
            self._reporting.cancel()
            await asyncio.gather(self._reporting, return_exceptions=True)

    def _count(self, number: int, *, is_bad: bool) -> None:
        if number == self._probe:
            self._probe = None
            self._probe_went = "bad" if is_bad else "good"
            self._report_within(0)
        elif is_bad:
            self._badly += 1
            self._report_within(_SOON_SECONDS)
        else:
            self._well += 1

    def _count_slow(self) -> None:
        """Count calls that have taken too long already, not only when they end."""
        latest = time.monotonic() - self._slow_after
        while self._running:
            number, begun = next(iter(self._running.items()))
            if begun > latest:
                break
            del self._running[number]
            self._count(number, is_bad=True)
            self._on_slow()

    def _report_within(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        if at >= self._report_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._report_at = at
        self._timer = loop.call_at(at, self._start_report)

    def _start_report(self) -> None:
        self._timer, self._report_at = None, float("inf")
        if self._reporting is not None:
            self._report_within(_SOON_SECONDS)
            return
        self._reporting = asyncio.create_task(self._report())

    async def _report(self) -> None:
        """Report and obey. Whatever goes wrong, there is a next time, and nobody waits
        for this one."""
        try:
            self._count_slow()
            await self._tell()
        finally:
            self._reporting = None
            self._reported_at = time.monotonic()
            if self.is_open:
                self._report_within(_CALM_SECONDS)
            if self._failures != 1:
                self._is_known.set()

    async def _tell(self) -> None:
        is_wanted = self._turns.is_waited_for or time.monotonic() < self._wanted_until
        report = Report(
            well=self._well,
            badly=self._badly,
            probe=self._probe_went,
            wants_probe=self._probe is None and is_wanted,
        )
        self._well, self._badly, self._probe_went = 0, 0, ""
        try:
            decision = await self._board.report(
                self._alias, report, policy=self._policy, probe_life=self._probe_life
            )
        except valkey.AWAY:
            self._failures += 1
            if self._failures == 1:
                # It may have been us who stood still: tell it again.
                self._well += report.well
                self._badly += report.badly
                self._probe_went = self._probe_went or report.probe
                self._report_within(_SOON_SECONDS)
                return
            decision = self._decide_alone(report)
        else:
            self._failures = 0
        self._obey(decision)

    def _decide_alone(self, report: Report) -> Decision:
        if not self.is_open or report.probe == "good":
            return Decision(is_open=False)
        now = time.monotonic()
        may_probe = report.wants_probe and now >= self._next_own_probe
        if may_probe or report.probe == "bad":
            self._next_own_probe = now + self._policy.longest_recovery.total_seconds()
        return Decision(is_open=True, may_probe=may_probe)

    def _obey(self, decision: Decision) -> None:
        if decision.is_open:
            if not self.is_open:
                self._open()
            if decision.may_probe:
                self._is_probe_next = True
                self._turns.let_one_through()
            wait = min(decision.ask_again or _OPEN_SECONDS, _OPEN_SECONDS)
            self._report_within(wait + random.uniform(0, _SOON_SECONDS))  # noqa: S311
            return
        if self.is_open:
            self._close()
        if self._running:
            self._report_within(_CALM_SECONDS)

    def _open(self) -> None:
        log.warning("breaker_opened", provider=self._alias)
        self.is_open = True
        self._metric.set(1)
        self._turns.hold()

    def _close(self) -> None:
        log.info("breaker_closed", provider=self._alias)
        self.is_open = self._is_probe_next = False
        self._probe, self._probe_went = None, ""
        self._metric.set(0)
        self._running.clear()
        self._well = self._badly = 0
        self._turns.resume()
