"""A bounded memory of one process, safe for its threads."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import timedelta
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_every_cache: list[ProcessCache[Any, Any]] = []


class ProcessCache(Generic[K, V]):
    """Keeps the most recently used entries, each for at most a lifetime.

    Make one per module, not per request: each is known to forget_everything for good.
    """

    def __init__(
        self,
        *,
        size: int,
        lifetime: timedelta,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size = size
        self._lifetime = lifetime.total_seconds()
        self._clock = clock
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._lock = threading.Lock()
        _every_cache.append(self)

    def get(self, key: K) -> V | None:
        """Return the value, unless it is unknown or too old."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            good_until, value = entry
            if self._clock() >= good_until:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Keep a value; the entry used longest ago makes room for it."""
        with self._lock:
            self._entries[key] = (self._clock() + self._lifetime, value)
            self._entries.move_to_end(key)
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()


class Sample(Generic[V]):
    """A value that one thread at a time reads anew once it is too old.

    While that one reads, the others get `meanwhile`.
    """

    def __init__(
        self, read: Callable[[], V], *, lifetime: timedelta, meanwhile: V
    ) -> None:
        self._read = read
        self._meanwhile = meanwhile
        self._known: ProcessCache[str, V] = ProcessCache(size=1, lifetime=lifetime)
        self._reading = threading.Lock()

    def current(self) -> V:
        """Return what was read last."""
        known = self._known.get("")
        if known is not None:
            return known
        if not self._reading.acquire(blocking=False):
            return self._meanwhile
        try:
            known = self._read()
            self._known.put("", known)
        finally:
            self._reading.release()
        return known


def forget_everything() -> None:
    """Clear every cache of this process, for tests that empty the tables."""
    for cache in _every_cache:
        cache.clear()
