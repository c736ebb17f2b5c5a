"""One process's way to the buckets: in blocks from Valkey, or from a share of its own.

A bucket holds ten seconds of its rate. A block is a fifth of a second's, so that many
requests cost one call; what is left of one stays good, for it has been taken. Nothing
here fails or waits long: while Valkey is away, full, read-only or paused, every process
goes by its share of the rate.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import structlog
from django.core.cache import cache

from tenants import valkey
from tenants.process_cache import ProcessCache

log = structlog.get_logger(__name__)

SECONDS_HELD = 10
_TAKE = (Path(__file__).parent / "take.lua").read_text()
_BLOCK_SECONDS = 0.2
_ASK_AGAIN_SECONDS = 1.0
_MICROSECONDS = 1_000_000


class Taken(NamedTuple):
    """Whether there was a token, about how many are left, and when more will be."""

    is_given: bool
    left: int
    wait_seconds: float


@dataclass(slots=True)
class _Bucket:
    """What this process knows of a bucket; times are of its monotonic clock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    # Of the block, and of the bucket in Valkey when that was taken.
    tokens: int = 0
    left_behind: int = 0
    empty_until: float = 0.0
    # When the share of our own will be full again, whoever was asked meanwhile: were it
    # full anew at every outage, a Valkey that comes and goes would lift the limit.
    share_is_full_at: float = 0.0


class Buckets:
    """The buckets as one process sees them; safe for its threads."""

    def __init__(self, *, url: str, expected_processes: int) -> None:
        """Make no connection yet: a process may be forked before it is asked."""
        self._valkey = valkey.connect(url)
        self._script = self._valkey.register_script(_TAKE)
        self._processes = expected_processes
        self._known: ProcessCache[str, _Bucket] = ProcessCache(
            size=20_000, lifetime=timedelta(hours=1)
        )
        self._is_away = False
        self._ask_at = 0.0
        self._asking = threading.Lock()

    def take(self, name: str, *, per_second: int) -> Taken:
        """Take a token of the bucket, if there is one."""
        bucket = self._known.get(name)
        if bucket is None:
            bucket = _Bucket()
            self._known.put(name, bucket)
        with bucket.lock:
            if not bucket.tokens and time.monotonic() >= bucket.empty_until:
                self._fetch(bucket, name, per_second)
            if bucket.tokens:
                bucket.tokens -= 1
                return Taken(True, bucket.tokens + bucket.left_behind, 0.0)
            return Taken(False, 0, bucket.empty_until - time.monotonic())

    def close(self) -> None:
        """Close the connections."""
        self._valkey.close()

    def _fetch(self, bucket: _Bucket, name: str, per_second: int) -> None:
        """Get tokens from Valkey; while it is away, one out of our own share."""
        if self._is_away:
            self._ask_whether_back()
            _fetch_own(bucket, per_second / self._processes)
            return
        wanted = max(int(per_second * _BLOCK_SECONDS), 1)
        try:
            number, left, wait = self._script(
                keys=[cache.make_key(f"rate:{{{name}}}")],
                args=[wanted, _MICROSECONDS / per_second, per_second * SECONDS_HELD],
            )
        except valkey.AWAY as failed:
            log.warning("tenant_rates_away", error=type(failed).__name__)
            self._ask_at = time.monotonic() + _ASK_AGAIN_SECONDS
            self._is_away = True
            _fetch_own(bucket, per_second / self._processes)
            return
        bucket.tokens, bucket.left_behind = number, left
        bucket.empty_until = time.monotonic() + wait / _MICROSECONDS

    def _ask_whether_back(self) -> None:
        """Have it asked at most every second, in a thread: no request waits for it."""
        now = time.monotonic()
        if now >= self._ask_at and self._asking.acquire(blocking=False):
            self._ask_at = now + _ASK_AGAIN_SECONDS
            threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self) -> None:
        """Write something: a server that is full or read-only is no use either."""
        try:
            self._valkey.set(cache.make_key("rate:probe"), "", px=1_000)
        except valkey.AWAY:
            return
        else:
            log.info("tenant_rates_back")
            self._is_away = False
        finally:
            self._asking.release()


def _fetch_own(bucket: _Bucket, per_second: float) -> None:
    """Put one token of the process's share into a bucket, or say when there is one."""
    now = time.monotonic()
    each = 1 / per_second
    full_at = max(bucket.share_is_full_at, now) + each
    # However small the share, it holds one.
    bucket.empty_until = full_at - max(SECONDS_HELD, each)
    bucket.left_behind = 0
    if bucket.empty_until <= now:
        bucket.tokens = 1
        bucket.share_is_full_at = full_at
        bucket.left_behind = int((now - bucket.empty_until) * per_second + 0.001)
