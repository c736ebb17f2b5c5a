"""How many messages went to a number, or to numbers that begin alike, of late.

Valkey counts, all rules of a message in one call. While it is away, full, read-only or
paused, every process counts by itself, each to its share of the limits.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import structlog
from django.core.cache import cache

from tenants import valkey
from tenants.process_cache import ProcessCache

log = structlog.get_logger(__name__)

_COUNT = (Path(__file__).parent / "count.lua").read_text()
_ASK_AGAIN_SECONDS = 1.0
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """At most so many in a window; one that does not refuse only watches.

    `key` names whom it is about, and shows nothing of who that is.
    """

    name: str
    key: str = field(repr=False)
    window: timedelta
    limit: int
    refuses: bool = True


class Counted(NamedTuple):
    """Who refused and for how long, or how to take the message back; `last` is the
    count of the last rule."""

    message: str
    rules: Sequence[Rule]
    refused_by: Rule | None
    wait_seconds: float
    last: int


class Counts:
    """The counts as one process sees them; safe for its threads."""

    def __init__(self, *, url: str, expected_processes: int) -> None:
        """Make no connection yet: a process may be forked before it is asked."""
        self._valkey = valkey.connect(url)
        self._script = self._valkey.register_script(_COUNT)
        self._own = _OwnCounts(share=expected_processes)
        self._asked = threading.Lock()
        self._is_away = False
        self._ask_at = 0.0

    def count(self, rules: Sequence[Rule]) -> Counted:
        """Count a message under all of the rules, or under none: one refuses."""
        # To tell it from the few others of its number, and as short as that allows.
        message = token_hex(6)
        if self._may_ask():
            arguments: list[str | int] = [message]
            for rule in rules:
                window = int(rule.window.total_seconds() * _MICROSECONDS)
                arguments += [window, rule.limit, int(rule.refuses)]
            try:
                refused, wait, last = self._script(
                    keys=[cache.make_key(rule.key) for rule in rules], args=arguments
                )
            except valkey.AWAY as failed:
                self._note_away(failed)
            else:
                self._note_back()
                by = rules[refused - 1] if refused else None
                return Counted(message, rules, by, wait / _MICROSECONDS, last)
        return self._own.count(message, rules)

    def take_back(self, counted: Counted) -> None:
        """Forget a message that was not accepted after all; what cannot be forgotten
        just now goes with its window."""
        self._own.take_back(counted)
        if self._is_away:
            return
        try:
            with self._valkey.pipeline(transaction=False) as pipeline:
                for rule in counted.rules:
                    pipeline.zrem(cache.make_key(rule.key), counted.message)
                pipeline.execute()
        except valkey.AWAY as failed:
            self._note_away(failed)

    def close(self) -> None:
        """Close the connections."""
        self._valkey.close()

    def _may_ask(self) -> bool:
        """Tell whether Valkey is there, or somebody should see: one a second."""
        if not self._is_away:
            return True
        with self._asked:
            now = time.monotonic()
            if now < self._ask_at:
                return False
            self._ask_at = now + _ASK_AGAIN_SECONDS
            return True

    def _note_away(self, failed: Exception) -> None:
        if not self._is_away:
            log.warning("number_counts_away", error=type(failed).__name__)
        self._ask_at = time.monotonic() + _ASK_AGAIN_SECONDS
        self._is_away = True

    def _note_back(self) -> None:
        if self._is_away:
            log.info("number_counts_back")
            self._is_away = False


class _OwnCounts:
    """The same by the process alone, to its share of each limit."""

    def __init__(self, *, share: int) -> None:
        self._share = share
        self._lock = threading.Lock()
        self._known: ProcessCache[str, deque[tuple[float, str]]] = ProcessCache(
            size=50_000, lifetime=timedelta(days=1)
        )

    def count(self, message: str, rules: Sequence[Rule]) -> Counted:
        with self._lock:
            now = time.monotonic()
            moments = [self._moments(rule, now) for rule in rules]
            refused_by, wait = None, 0.0
            for rule, known in zip(rules, moments, strict=True):
                limit = self._limit(rule)
                if rule.refuses and len(known) >= limit:
                    first = known[len(known) - limit][0]
                    free_in = first + rule.window.total_seconds() - now
                    if free_in >= wait:
                        refused_by, wait = rule, free_in
            if refused_by is None:
                for rule, known in zip(rules, moments, strict=True):
                    if len(known) >= self._limit(rule):
                        known.popleft()
                    known.append((now, message))
            return Counted(message, rules, refused_by, wait, len(moments[-1]))

    def take_back(self, counted: Counted) -> None:
        with self._lock:
            for rule in counted.rules:
                known = self._known.get(rule.key) or ()
                for moment in [each for each in known if each[1] == counted.message]:
                    known.remove(moment)  # type: ignore[union-attr]

    def _moments(self, rule: Rule, now: float) -> deque[tuple[float, str]]:
        known = self._known.get(rule.key) or deque()
        while known and known[0][0] <= now - rule.window.total_seconds():
            known.popleft()
        self._known.put(rule.key, known)  # and it lives for a day from now
        return known

    def _limit(self, rule: Rule) -> int:
        return math.ceil(rule.limit / self._share)
