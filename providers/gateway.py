"""Call providers: each account with its own limits, each call with its time limit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from django.conf import settings

from providers.base import OutboundMessage, SendResult, Verdict
from providers.channels import Channel
from providers.circuit.board import Board
from providers.open_account import OpenAccount
from providers.quotas.booking import Booking
from providers.registry import Account, UnknownProvider, account

LONGEST_WORD = 200
_UNSTORABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def _no_check() -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Accounts whose breaker is open; of the `probing` ones each needs one call."""

    resting: frozenset[str] = frozenset()
    probing: frozenset[str] = frozenset()


class Gateway:
    """The accounts of one event loop, opened when they are first used."""

    def __init__(self, *, window: int | None = None) -> None:
        """Let nobody who has to wait take more of a window than is his share."""
        self._window = window
        self._open: dict[str, OpenAccount] = {}
        self._serving: dict[Channel, set[str]] = defaultdict(set)
        url, prefix = settings.REDIS_URL, settings.VALKEY_PREFIX
        self._booking = Booking(
            url=url, prefix=prefix, expected_workers=settings.EXPECTED_WORKERS
        )
        self._board = Board(url=url, prefix=prefix)

    def account(self, alias: str) -> Account:
        """Return the account this loop uses; raise UnknownProvider if there is none."""
        return self._opened(alias).account

    def health(self) -> Health:
        """Tell which accounts are not to be called now; any thread may ask."""
        breakers = [
            (alias, opened.breaker)
            for alias, opened in list(self._open.items())
            if opened.breaker is not None
        ]
        return Health(
            resting=frozenset(alias for alias, each in breakers if each.is_resting),
            probing=frozenset(alias for alias, each in breakers if each.is_probing),
        )

    def has_resting(self, channel: Channel) -> bool:
        """Tell whether an account that serves the channel here has its breaker open."""
        breakers = (self._open[alias].breaker for alias in self._serving[channel])
        return any(breaker is not None and breaker.is_open for breaker in breakers)

    def want(self, aliases: Iterable[str]) -> None:
        """Take note that these would have been called, were they not resting."""
        for alias in aliases:
            opened = self._open.get(alias)
            if opened is not None and opened.breaker is not None:
                opened.breaker.want()

    async def send(
        self,
        message: OutboundMessage,
        *,
        alias: str,
        just_before: Callable[[], None] = _no_check,
        leaves: bool = False,
    ) -> SendResult:
        """Make one attempt: at most PATIENCE to get a turn, then TIMEOUT for the call.

        `just_before` is called once the turn is there; what it raises stops the call.
        Who `leaves` has somewhere else to go and does not wait for an open breaker.

        Whatever the provider does is a result. An adapter's exception is a bug in it:
        it passes through, and the outcome of the attempt is unknown.
        """
        try:
            opened = self._opened(alias)
        except UnknownProvider:
            return Verdict.ACCOUNT_FAULT.result(code="unknown_provider")
        if message.channel not in opened.account.adapter.channels:
            return Verdict.ACCOUNT_FAULT.result(code="channel_not_served")
        self._share_window(message.channel, alias)
        return _storable(
            await opened.send(message, just_before=just_before, leaves=leaves)
        )

    async def aclose(self) -> None:
        """Close every account; calls in flight must have ended."""
        while self._open:
            _, opened = self._open.popitem()
            await opened.aclose()
        await self._booking.aclose()
        await self._board.aclose()

    def _share_window(self, channel: Channel, alias: str) -> None:
        """Let the accounts of a channel share the half of the window that it may fill:
        messages that wait for one must not keep out those for another. Where there is
        but one they may as well wait in the window as in the tables."""
        serving = self._serving[channel]
        if alias in serving:
            return
        serving.add(alias)
        if self._window is not None and len(serving) > 1:
            for each in serving:
                most = max(self._window // 2 // len(serving), 1)
                self._open[each].turns.most_held = most

    def _opened(self, alias: str) -> OpenAccount:
        opened = self._open.get(alias)
        if opened is None:
            opened = self._open[alias] = OpenAccount(
                account(alias), booking=self._booking, board=self._board
            )
        return opened


def _storable(result: SendResult) -> SendResult:
    """Cut a provider's words to what a column takes: PostgreSQL stores no NUL and no
    half of a surrogate pair, and one such word would stop the settling of its batch."""
    words = result.code, result.provider_message_id
    code, message_id = (_UNSTORABLE.sub("", word)[:LONGEST_WORD] for word in words)
    if (code, message_id) == words:
        return result
    return replace(result, code=code, provider_message_id=message_id)
