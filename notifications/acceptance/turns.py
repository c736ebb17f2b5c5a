"""Let a few submissions be worked on at once; the others wait, HIGH first.

Threads share one interpreter, and queue for it anew after every statement: beyond a few
each only makes the others slower. One that waits here costs nothing.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 5.0


class Turns:
    """A bounded number of turns at work, handed on in order of class and arrival."""

    def __init__(self, *, patience: float = PATIENCE_SECONDS) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._at_work = 0
        # Each waits for a lock that is held until it is called.
        self._urgent: deque[threading.Lock] = deque()
        self._others: deque[threading.Lock] = deque()

    @contextmanager
    def taken(self, *, at_once: int, urgent: bool) -> Iterator[None]:
        """Have a turn, after at most as long as patience lasts.

        Whoever is at work may hang: what cannot wait for it goes in beside it.
        """
        self._wait(at_once, self._urgent if urgent else self._others)
        try:
            yield
        finally:
            self._hand_on(at_once)

    def _wait(self, at_once: int, queue: deque[threading.Lock]) -> None:
        with self._lock:
            if self._at_work < at_once:
                self._at_work += 1
                return
            called = threading.Lock()
            called.acquire()
            queue.append(called)
        if called.acquire(timeout=self._patience):
            return
        with self._lock:
            # Unless the turn was handed to us at this very moment.
            if called in queue:
                queue.remove(called)
                self._at_work += 1

    def _hand_on(self, at_once: int) -> None:
        with self._lock:
            waiting = self._urgent or self._others
            if waiting and self._at_work <= at_once:
                waiting.popleft().release()
            else:
                self._at_work -= 1
