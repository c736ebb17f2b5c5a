"""Call providers: one bounded lane per account, one time limit per call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from providers.base import Adapter, OutboundMessage, SendResult, Verdict
from providers.registry import Account, UnknownProvider, account
from providers.slots import Slots

LONGEST_WORD = 200
_UNSTORABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Lane:
    account: Account
    slots: Slots


def _no_check() -> None:
    pass


class Gateway:
    """The accounts of one event loop, opened when they are first used."""

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane] = {}

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
        """Make one attempt: at most TIMEOUT to get a slot, then TIMEOUT for the call.

        `just_before` is called once the slot is there; what it raises stops the call.

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
        if not await lane.slots.take():
            # Nothing was tried: no attempt, like every other wait for capacity.
            return Verdict.RATE_LIMITED.result(code="account_busy")
        try:
            just_before()
            return _storable(await _call(lane.account, message))
        finally:
            lane.slots.release()

    async def aclose(self) -> None:
        """Close every account; calls in flight must have ended."""
        while self._lanes:
            _, lane = self._lanes.popitem()
            await lane.account.adapter.aclose()

    def _lane(self, alias: str) -> _Lane:
        lane = self._lanes.get(alias)
        if lane is None:
            opened = account(alias)
            patience = opened.timeout.total_seconds()
            lane = _Lane(opened, Slots(opened.concurrency, patience=patience))
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
