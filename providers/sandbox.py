"""A provider that sends nothing: it records, and fails on request."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from hashlib import blake2b
from typing import ClassVar

from django.core.exceptions import ImproperlyConfigured

from foundation.ids import public_id
from foundation.statements import AWAY
from providers.base import Adapter, OutboundMessage, SendResult, Verdict
from providers.channels import Channel
from providers.sandbox_recipients import Behaviour, read_script
from providers.sandbox_record import Attempt, SandboxRecord

_RETRY_AFTER = timedelta(seconds=1)

_VERDICTS = {
    Behaviour.ACCEPT: Verdict.ACCEPTED,
    Behaviour.TRANSIENT: Verdict.TRANSIENT,
    Behaviour.RATE_LIMITED: Verdict.RATE_LIMITED,
    Behaviour.PERMANENT: Verdict.BAD_RECIPIENT,
    Behaviour.DEAD_TOKEN: Verdict.DEAD_TOKEN,
    Behaviour.BAD_MESSAGE: Verdict.BAD_MESSAGE,
    Behaviour.ACCOUNT_FAULT: Verdict.ACCOUNT_FAULT,
    Behaviour.TIMEOUT: Verdict.UNKNOWN,
    Behaviour.OPTED_OUT: Verdict.OPTED_OUT,
    Behaviour.SLOW: Verdict.ACCEPTED,
}
# Given to the first calls only, as many as the recipient says; to all of them at 0.
_COUNTED = {Verdict.TRANSIENT, Verdict.RATE_LIMITED, Verdict.UNKNOWN}


class SandboxAdapter(Adapter):
    """Serves every channel and test keys; docs/sandbox.md lists its test recipients.

    `transient_rate` is the share of attempts at ordinary recipients that fail; which
    ones follows from the delivery id and the attempt, so that a run can be repeated.
    """

    channels = frozenset(Channel)
    is_simulated = True
    # It remembers whatever is in its record.
    idempotency_window: ClassVar[timedelta | None] = timedelta.max

    def __init__(self, *, transient_rate: float = 0.0) -> None:
        if not 0.0 <= transient_rate <= 1.0:
            raise ImproperlyConfigured("transient_rate: 0.0 to 1.0")
        self._transient_rate = transient_rate
        self._record = SandboxRecord()

    async def send(self, message: OutboundMessage) -> SendResult:
        """Record the attempt, then answer it."""
        try:
            verdict = await self._verdict(message)
            return await self._answer(message, verdict)
        except AWAY:
            # The connection broke: the row may be committed all the same.
            return Verdict.UNKNOWN.result(code="sandbox_record")

    async def aclose(self) -> None:
        """Close the record's connection."""
        await self._record.aclose()

    async def _verdict(self, message: OutboundMessage) -> Verdict:
        script = read_script(
            channel=message.channel, address=message.address, user_id=message.user_id
        )
        if script is None:
            unlucky = _share(message) < self._transient_rate
            return Verdict.TRANSIENT if unlucky else Verdict.ACCEPTED
        if script.behaviour is Behaviour.SLOW:
            await asyncio.sleep(script.count)
        verdict = _VERDICTS[script.behaviour]
        if verdict not in _COUNTED or script.count == 0:
            return verdict
        call = message.attempt
        if verdict is Verdict.RATE_LIMITED:
            # Being rate limited consumes no attempt.
            call = await self._record.count(message.delivery_id) + 1
        return verdict if call <= script.count else Verdict.ACCEPTED

    async def _answer(self, message: OutboundMessage, verdict: Verdict) -> SendResult:
        accepted = verdict is Verdict.ACCEPTED
        attempt = Attempt(
            message=message,
            outcome=verdict.value[0],
            accepted=accepted or verdict is Verdict.UNKNOWN,
            recognises=self.idempotency_window is not None,
        )
        await self._record.write(attempt)
        return verdict.result(
            code=f"sandbox_{verdict.name.lower()}",
            provider_message_id=public_id("sbx", attempt.id) if accepted else "",
            retry_after=_RETRY_AFTER if verdict is Verdict.RATE_LIMITED else None,
        )


class ForgetfulSandboxAdapter(SandboxAdapter):
    """A sandbox like most real providers: a delivery sent twice arrives twice."""

    idempotency_window = None


def _share(message: OutboundMessage) -> float:
    """Spread attempts evenly over 0.0 to 1.0, always in the same way."""
    origin = message.delivery_id.bytes + message.attempt.to_bytes(4, "big")
    return int.from_bytes(blake2b(origin, digest_size=4).digest(), "big") / 2**32
