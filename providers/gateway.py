"""Call providers: one bounded lane per account, one time limit per call."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from django.conf import settings
from prometheus_client import Histogram

from providers.base import Adapter, OutboundMessage, SendResult, Verdict
from providers.metrics import TURN_WAIT
from providers.quotas.allowances import Allowance, Limit, allowance
from providers.quotas.booking import Booking
from providers.registry import Account, UnknownProvider, account
from providers.turns import Turn, Turns
from tenants.categories import Priority

LONGEST_WORD = 200
_UNSTORABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


_REFUSED = {Turn.NO_PLACE: "account_busy", Turn.NO_PERMIT: "quota"}


@dataclass(frozen=True, slots=True)
class _Lane:
    account: Account
    turns: Turns
    waits: Mapping[Priority, Histogram]
    allowances: dict[tuple[Priority, Limit | None], Allowance] = field(
        default_factory=dict
    )

    def allowance(self, message: OutboundMessage) -> Allowance | None:
        """Return what the message's call has to keep to; the same for its likes."""
        if self.account.rate is None:
            return None
        own = self._of_prefix(message) if self.account.prefix_rates else None
        known = self.allowances.get((message.priority, own))
        if known is None:
            known = self.allowances[message.priority, own] = allowance(
                self.account.alias,
                per_second=self.account.rate,
                priority=message.priority,
                others=() if own is None else (own,),
            )
        return known

    def _of_prefix(self, message: OutboundMessage) -> Limit | None:
        """Find the limit of the longest prefix that the number has."""
        rates = self.account.prefix_rates
        found = [prefix for prefix in rates if message.address.startswith(prefix)]
        longest = max(found, key=len, default=None)
        return None if longest is None else Limit(longest, rates[longest])


def _no_check() -> None:
    pass


class Gateway:
    """The accounts of one event loop, opened when they are first used."""

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane] = {}
        self._booking = Booking(
            url=settings.REDIS_URL, expected_workers=settings.EXPECTED_WORKERS
        )

    def account(self, alias: str) -> Account:
        """Return the account this loop uses; raise UnknownProvider if there is none."""
        return self._lane(alias).account

    async def send(
        self,
        message: OutboundMessage,
        *,
        alias: str,
        just_before: Callable[[], None] = _no_check,
    ) -> SendResult:
        """Make one attempt: at most PATIENCE to get a turn, then TIMEOUT for the call.

        `just_before` is called once the turn is there; what it raises stops the call.

        Whatever the provider does is a result. An adapter's exception is a bug in it:
        it passes through, and the outcome of the attempt is unknown.
        """
        try:
            lane = self._lane(alias)
        except UnknownProvider:
            return Verdict.ACCOUNT_FAULT.result(code="unknown_provider")
        if message.channel not in lane.account.adapter.channels:
            return Verdict.ACCOUNT_FAULT.result(code="channel_not_served")
        # A limit of its own: what waited long must not be called with no time left, for
        # a call that is cut short is an unknown outcome.
        begun = time.monotonic()
        turn = await lane.turns.take(message.priority, lane.allowance(message))
        lane.waits[message.priority].observe(time.monotonic() - begun)
        if turn is not Turn.GIVEN:
            # Nothing was tried: no attempt, like every other wait for capacity. It
            # stays away for as long again, and does not go round in the tables.
            patience = lane.account.patience
            return Verdict.RATE_LIMITED.result(
                code=_REFUSED[turn], retry_after=patience
            )
        try:
            just_before()
            return _storable(await _call(lane.account, message))
        finally:
            lane.turns.release()

    async def aclose(self) -> None:
        """Close every account; calls in flight must have ended."""
        while self._lanes:
            _, lane = self._lanes.popitem()
            await lane.turns.aclose()
            await lane.account.adapter.aclose()
        await self._booking.aclose()

    def _lane(self, alias: str) -> _Lane:
        lane = self._lanes.get(alias)
        if lane is None:
            opened = account(alias)
            patience = opened.patience.total_seconds()
            lane = _Lane(
                opened,
                Turns(opened.concurrency, patience=patience, booking=self._booking),
                {each: TURN_WAIT.labels(alias, each.key) for each in Priority},
            )
            self._lanes[alias] = lane
        return lane


def _storable(result: SendResult) -> SendResult:
    """Cut a provider's words to what a column takes: PostgreSQL stores no NUL and no
    half of a surrogate pair, and one such word would stop the settling of its batch."""
    words = result.code, result.provider_message_id
    code, message_id = (_UNSTORABLE.sub("", word)[:LONGEST_WORD] for word in words)
    if (code, message_id) == words:
        return result
    return replace(result, code=code, provider_message_id=message_id)


async def _call(account: Account, message: OutboundMessage) -> SendResult:
    adapter: Adapter = account.adapter
    try:
        async with asyncio.timeout(account.timeout.total_seconds()):
            return await adapter.send(message)
    except TimeoutError:
        return Verdict.UNKNOWN.result(code="timeout")
