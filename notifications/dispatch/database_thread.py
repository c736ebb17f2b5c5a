"""All database work of a consumer, on one thread with a connection of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TypeVar

import structlog
from django.db import connections

from foundation.statements import AWAY
from notifications.worker import Stop

log = structlog.get_logger(__name__)
T = TypeVar("T")

_LONGEST_PAUSE = 5.0


class DatabaseThread:
    """Runs work off the event loop and waits out a database that is away."""

    def __init__(self, *, stop: Stop) -> None:
        self._stop = stop
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        self._answered_at = float("-inf")

    def answered_within(self, time_span: timedelta) -> bool:
        """Tell whether the database did any work lately."""
        return time.monotonic() - self._answered_at < time_span.total_seconds()

    async def through_outages(
        self, work: Callable[[], T], *, patience: timedelta
    ) -> T | None:
        """Do the work, again and again while the database is away.

        Once a stop is asked for it gives up after `patience`, with None. What was
        claimed meanwhile runs into its lease and is taken over; settling it late
        changes nothing and leaves a trace.
        """
        started, pause = time.monotonic(), 0.1
        while True:
            try:
                result = await self._run(work)
            except AWAY as away:
                log.warning("database_unavailable", error=type(away).__name__)
                await self._run(connections.close_all)
                waited = time.monotonic() - started
                if self._stop.asked and waited >= patience.total_seconds():
                    return None
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            else:
                self._answered_at = time.monotonic()
                return result

    async def close(self) -> None:
        """Close the connection and end the thread."""
        await self._run(connections.close_all)
        self._thread.shutdown()

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
