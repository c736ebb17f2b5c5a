"""Provider calls out of tasks that wait for them: a loop and connections per thread."""

from __future__ import annotations

import threading

import uvloop
from django.conf import settings

from notifications.dispatch.claiming import Outgoing
from notifications.dispatch.sending import send
from notifications.dispatch.settling import Settlement
from providers.gateway import Gateway

_of_thread = threading.local()


class Caller:
    """Runs its loop for as long as a call takes; its connections outlive the call.

    A thread has one call at a time. A loop on a thread of its own would have each of
    them handed over and back again, and was no faster.
    """

    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._gateway = Gateway()

    def call(self, outgoing: Outgoing) -> Settlement:
        sending = send(
            outgoing, gateway=self._gateway, lease=settings.CLAIM_LEASE, spread=0.5
        )
        return self._loop.run_until_complete(sending)

    def close(self) -> None:
        self._loop.run_until_complete(self._gateway.aclose())
        self._loop.close()


def call(outgoing: Outgoing) -> Settlement:
    """Make the call; return what follows from its answer.

    The caller is made when a thread first needs it, and so behind every fork.
    """
    known: Caller | None = getattr(_of_thread, "caller", None)
    if known is None:
        known = _of_thread.caller = Caller()
    return known.call(outgoing)


def close() -> None:
    """Close this thread's connections; the next call opens others."""
    if known := vars(_of_thread).pop("caller", None):
        known.close()
