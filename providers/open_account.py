"""One account as one event loop uses it: its turns, its breaker, what it bears."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import datetime

from providers.adapting import AdaptivePlaces, AdaptiveRate
from providers.base import (
    FAILED,
    Found,
    OutboundMessage,
    Outcome,
    Scope,
    SearchableAdapter,
    SendResult,
    Verdict,
    cannot_tell,
)
from providers.circuit.board import Board, BreakerPolicy
from providers.circuit.breaker import CircuitBreaker
from providers.metrics import ACCOUNT_PART, ACCOUNT_PLACES, TURN_WAIT
from providers.quotas.allowances import Allowance, Limit, allowance
from providers.quotas.booking import Booking
from providers.registry import Account
from providers.turns import Turn, Turns
from tenants.categories import Priority

BREAKER_OPEN = "breaker_open"
_FEW_CALLS = 5
_REFUSED = {
    Turn.NO_PLACE: "account_busy",
    Turn.NO_PERMIT: "quota",
    Turn.HELD: BREAKER_OPEN,
}
# What a look-up says of the account's health when nothing was in its way.
_ANSWERED = Verdict.ACCEPTED.result()


def _policy(policy: BreakerPolicy, *, places: int) -> BreakerPolicy:
    """Let calls that hang in all of an account's few places be enough to open it."""
    enough = min(policy.least_calls, max(places, _FEW_CALLS))
    return replace(policy, least_calls=enough)


class OpenAccount:
    """Makes calls one after the other is due, and learns from how they go."""

    def __init__(self, account: Account, *, booking: Booking, board: Board) -> None:
        self.account = account
        self.turns = Turns(
            account.concurrency,
            patience=account.patience.total_seconds(),
            booking=booking,
        )
        self.breaker = self._make_breaker(board)
        self._rate = AdaptiveRate()
        self._places = AdaptivePlaces(account.concurrency)
        self._allowances: dict[tuple[Priority, tuple[Limit, ...]], Allowance] = {}
        self._waits = {
            each: TURN_WAIT.labels(account.alias, each.key) for each in Priority
        }

    def _make_breaker(self, board: Board) -> CircuitBreaker | None:
        if self.account.breaker is None:
            return None
        return CircuitBreaker(
            self.account.alias,
            policy=_policy(self.account.breaker, places=self.account.concurrency),
            timeout=self.account.timeout.total_seconds(),
            board=board,
            turns=self.turns,
            on_slow=self._overloaded,
        )

    async def send(
        self,
        message: OutboundMessage,
        *,
        just_before: Callable[[], None],
        leaves: bool,
    ) -> SendResult:
        """Wait for a turn, check, call; the gateway says what is raised."""
        return await self._in_turn(
            message,
            lambda: self.account.adapter.send(message),
            just_before=just_before,
            leaves=leaves,
        )

    async def find(
        self,
        message: OutboundMessage,
        *,
        since: datetime,
        just_before: Callable[[], None],
    ) -> Found:
        """Look a message up as `send` sends one: in turn, and with what it costs."""
        adapter = self.account.adapter
        if not isinstance(adapter, SearchableAdapter):
            return cannot_tell()
        found: Found | None = None

        async def ask() -> SendResult:
            nonlocal found
            found = await adapter.find(message, since=since)
            return found.trouble or _ANSWERED

        result = await self._in_turn(
            message, ask, just_before=just_before, leaves=False
        )
        return found or cannot_tell(result)

    async def _in_turn(
        self,
        message: OutboundMessage,
        call: Callable[[], Awaitable[SendResult]],
        *,
        just_before: Callable[[], None],
        leaves: bool,
    ) -> SendResult:
        # A limit of its own: what waited long must not be called with no time left, for
        # a call that is cut short is an unknown outcome.
        begun = time.monotonic()
        if self.breaker:
            await self.breaker.get_to_know()
        turn = Turn.NO_PERMIT
        if not self._would_wait_in_vain(message.priority):
            turn = await self.turns.take(
                message.priority, self._allowance(message), leaves=leaves
            )
        self._waits[message.priority].observe(time.monotonic() - begun)
        if turn is not Turn.GIVEN:
            # Nothing was tried: no attempt, like every other wait for capacity. It
            # stays away for as long again, and does not go round in the tables.
            return SendResult(
                outcome=Outcome.RATE_LIMITED,
                code=_REFUSED[turn],
                retry_after=self.account.patience,
                is_called=False,
            )
        is_called = False
        try:
            just_before()
            is_called = True
            return await self._watched(call)
        finally:
            self.turns.release()
            if self.breaker and not is_called:
                self.breaker.let_another_probe()

    async def aclose(self) -> None:
        """Let go of everything; calls in flight must have ended."""
        if self.breaker:
            await self.breaker.aclose()
        await self.turns.aclose()
        await self.account.adapter.aclose()

    async def _watched(self, call: Callable[[], Awaitable[SendResult]]) -> SendResult:
        if self.breaker is None:
            return await self._timed(call)
        number, is_bad = self.breaker.begin(), True
        try:
            result = await self._timed(call)
            is_bad = self._learn(result)
            return result
        finally:
            self.breaker.end(number, is_bad=is_bad)

    async def _timed(self, call: Callable[[], Awaitable[SendResult]]) -> SendResult:
        try:
            async with asyncio.timeout(self.account.timeout.total_seconds()):
                return await call()
        except TimeoutError:
            return Verdict.UNKNOWN.result(code="timeout")

    def _learn(self, result: SendResult) -> bool:
        """Adapt to an answer; tell whether it speaks against the account's health."""
        now = time.monotonic()
        if result.outcome in FAILED and result.scope is Scope.MESSAGE:
            self._overloaded()
            return True
        if result.outcome is not Outcome.RATE_LIMITED:
            self._rate.answered(now=now)
            self._places.answered(was_full=self.turns.is_full, now=now)
        elif self.account.rate is None:
            self._overloaded()
        else:
            self._rate.refused(now=now)
        self._adapt()
        return False

    def _would_wait_in_vain(self, priority: Priority) -> bool:
        """Tell whether the line is too long for the quota, and in others' way."""
        rate = self.account.rate
        if rate is None or not self.turns.is_crowded(priority):
            return False
        patience = self.account.patience.total_seconds()
        return self.turns.number_waiting > rate * patience

    def _overloaded(self) -> None:
        self._places.overloaded(now=time.monotonic())
        self._adapt()

    def _adapt(self) -> None:
        if self._places.number != self.turns.places:
            self.turns.resize(self._places.number)
            ACCOUNT_PLACES.labels(self.account.alias).set(self._places.number)
        if self._rate.part != self.turns.part_of_quota:
            self.turns.part_of_quota = self._rate.part
            ACCOUNT_PART.labels(self.account.alias).set(self._rate.part)

    def _allowance(self, message: OutboundMessage) -> Allowance | None:
        """Return what the message's call has to keep to; the same for its likes."""
        if self.account.rate is None:
            return None
        others = tuple(self._limits_beside(message))
        known = self._allowances.get((message.priority, others))
        if known is None:
            known = self._allowances[message.priority, others] = allowance(
                self.account.quota,
                per_second=self.account.rate,
                priority=message.priority,
                others=others,
            )
        return known

    def _limits_beside(self, message: OutboundMessage) -> Iterator[Limit]:
        """Find the limits of the sender, the tenant, and the longest prefix that the
        number has."""
        account = self.account
        if account.sender_rate is not None:
            yield Limit(f"sender:{account.alias}", account.sender_rate)
        if account.tenant_rate is not None:
            yield Limit(f"tenant:{message.tenant_id}", account.tenant_rate)
        rates = account.prefix_rates
        found = [prefix for prefix in rates if message.address.startswith(prefix)]
        if found:
            longest = max(found, key=len)
            yield Limit(longest, rates[longest])
