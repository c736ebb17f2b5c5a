"""Provider calls out of greenlets: a loop on a real thread, which gevent cannot switch.

Run by a greenlet the loop would stop all the others. What belongs to gevent is woken
by its hub alone: a future of a patched library waits for locks of the wrong kind.
"""

from __future__ import annotations

import asyncio
from functools import cache

import gevent
import gevent.event
import uvloop
from django.conf import settings

from notifications.dispatch.claiming import Outgoing
from notifications.dispatch.sending import send
from notifications.dispatch.settling import Settlement
from providers.gateway import Gateway


class GreenletCaller:
    """Hands calls to the loop; each waits as a greenlet for its answer."""

    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._gateway = Gateway()
        self._hub = gevent.get_hub()
        self._hub.threadpool.spawn(self._loop.run_forever)

    def call(self, outgoing: Outgoing) -> Settlement:
        calls: list[asyncio.Task[Settlement]] = []
        answered = gevent.event.Event()

        def start() -> None:
            sending = send(
                outgoing, gateway=self._gateway, lease=settings.CLAIM_LEASE, spread=0.5
            )
            calls.append(self._loop.create_task(sending))
            calls[0].add_done_callback(wake)

        def wake(_: asyncio.Task[Settlement]) -> None:
            self._hub.loop.run_callback_threadsafe(answered.set)

        self._loop.call_soon_threadsafe(start)
        answered.wait()
        return calls[0].result()


# One for all: no greenlet gives way to another while it is being made.
_caller = cache(GreenletCaller)


def call(outgoing: Outgoing) -> Settlement:
    """Make the call; return what follows from its answer."""
    return _caller().call(outgoing)
