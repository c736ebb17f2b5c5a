"""Ask a provider what became of a message: a turn like a call's, and no attempt."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from notifications.dispatch.claiming import Outgoing, settlement_of
from notifications.dispatch.containment import contained
from notifications.dispatch.judging import attempt_of, retry_policy
from notifications.dispatch.sending import TooLate, check_time
from notifications.dispatch.settling import Settlement
from notifications.dispatch.work import Work
from notifications.retry_policy import RECONCILE_FOR, after_look_up
from providers.base import Finding, SearchableAdapter, Verdict, cannot_tell
from providers.gateway import Gateway


async def look_up(
    outgoing: Outgoing, *, until: datetime, gateway: Gateway, lease: timedelta
) -> Settlement:
    """Look for what was sent, unless it is too late, and say what follows.

    `until` is when the looking ends.
    """
    work = outgoing.work
    begun_at = until - RECONCILE_FOR

    def just_before() -> None:
        call = gateway.account(work.provider).timeout
        check_time(outgoing, call=call, lease=lease)

    found = cannot_tell(Verdict.UNKNOWN.result(code="adapter_error"))
    try:
        with contained("look_up_failed", passing=(TooLate,), provider=work.provider):
            found = await gateway.find(
                outgoing.message,
                alias=work.provider,
                since=work.begun.called_at or begun_at,
                just_before=just_before,
            )
    except TooLate as late:
        return settlement_of(work, late.step)
    if found.finding is Finding.NOT_FOUND and outgoing.now() < begun_at + _listed(work):
        found = cannot_tell()
    step = after_look_up(
        found.finding,
        replace(attempt_of(work, now=outgoing.now()), number=work.begun.attempt_count),
        policy=retry_policy(work.begun.category),
        reconcile_until=until,
    )
    return replace(settlement_of(work, step), provider=work.provider, found=found)


def _listed(work: Work) -> timedelta:
    """Return how long what was created may be missing from what is found."""
    if work.adapter is None or not issubclass(work.adapter, SearchableAdapter):
        return timedelta(0)
    return timedelta(seconds=work.adapter.seconds_until_listed)
