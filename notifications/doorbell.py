"""A hint that HIGH is due, for whoever sleeps between two looks.

Only a hint: one that is lost costs the rest of the sleep. For each of them PostgreSQL
takes a lock of the whole server, so it is rung after the commit, and seldom.
"""

from __future__ import annotations

import time

import structlog
from django.db import connection

from foundation.statements import AWAY, server_cursor

log = structlog.get_logger(__name__)

# Whoever was woken looks every few milliseconds for a while: it finds what came next.
_QUIET_SECONDS = 0.01

# NOTIFY makes its transaction a writing one, which nobody shall wait for a disk for.
_RING = (
    "SELECT set_config('synchronous_commit', 'off', true), pg_notify('high_due', '')"
)
_LISTEN = "LISTEN high_due"


class Doorbell:
    """One process's bell button."""

    def __init__(self) -> None:
        self._silent_until = 0.0

    def ring(self) -> None:
        """Tell that HIGH has become due; outside of any transaction that is to last.

        It never fails: what was accepted stays accepted.
        """
        now = time.monotonic()
        if now < self._silent_until:
            return
        self._silent_until = now + _QUIET_SECONDS
        try:
            with server_cursor() as cursor:
                cursor.execute(_RING)
        except AWAY as away:
            log.info("doorbell_not_rung", error=type(away).__name__)


class Listener:
    """Sleeps on its thread's own connection, and wakes when somebody rings."""

    def __init__(self) -> None:
        self._listening: object = None

    def sleep(self, seconds: float) -> None:
        """Return when it was rung, also since the last sleep, or after that long."""
        connection.ensure_connection()
        known = connection.connection
        if known is not self._listening:
            known.execute(_LISTEN)
            self._listening = known
            return  # what became due before is not told any more: look first
        self._hear(seconds)

    def forget(self) -> None:
        """Drop what was rung while its thread had work anyway, lest it piles up."""
        if connection.connection is self._listening is not None:
            self._hear(0)

    def _hear(self, seconds: float) -> None:
        for _ in connection.connection.notifies(timeout=seconds, stop_after=1):
            pass
