"""Tell staff where one-time passwords pour into numbers that begin alike.

That is how traffic is pumped: somebody asks for passwords to numbers whose operator
pays them a part of what each message costs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import structlog

from foundation.statements import Cursor, server_cursor
from tenants.metrics import PUMPING_ALARMS

log = structlog.get_logger(__name__)

KEEP_FOR = timedelta(days=90)
_QUIET = timedelta(hours=1)
# A process writes into a row this often at most, however much pours in.
_WRITE_SECONDS = 1.0

_GOES_ON = "(a.last_at >= app_now() - %(quiet)s::interval)::int"
_NOTE = f"""
INSERT INTO pumping_alarm AS a (tenant_id, country, prefix, passed, refused, blocked)
VALUES (%(tenant_id)s, %(country)s, %(prefix)s, %(passed)s, %(refused)s, %(blocked)s)
ON CONFLICT (tenant_id, prefix) DO UPDATE
   SET since = CASE WHEN a.last_at < app_now() - %(quiet)s::interval
                    THEN app_now() ELSE a.since END,
       passed = a.passed * {_GOES_ON} + excluded.passed,
       refused = a.refused * {_GOES_ON} + excluded.refused,
       blocked = a.blocked * {_GOES_ON} + excluded.blocked,
       last_at = app_now()
RETURNING old.id IS NULL OR new.since <> old.since
"""  # noqa: S608 - our own words
_FORGET = """
DELETE FROM pumping_alarm WHERE last_at < app_now() - %(keep_for)s::interval
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Messages of a tenant to numbers that begin alike, and what became of them."""

    tenant_id: int
    country: str
    prefix: str
    passed: int = 0
    refused: int = 0
    # The provider calls it pumping and will not send.
    blocked: int = 0


def note(cursor: Cursor, suspicions: Iterable[Suspicion]) -> None:
    """Add to the alarms; a new one is told in the log and counted."""
    # In order: two workers may note the same two.
    for each in sorted(suspicions, key=lambda each: (each.tenant_id, each.prefix)):
        cursor.execute(
            _NOTE,
            {
                "tenant_id": each.tenant_id,
                "country": each.country,
                "prefix": each.prefix,
                "passed": each.passed,
                "refused": each.refused,
                "blocked": each.blocked,
                "quiet": _QUIET,
            },
        )
        if cursor.fetchone() == (True,):
            PUMPING_ALARMS.inc()
            log.warning(
                "sms_pumping_alarm",
                tenant_id=each.tenant_id,
                country=each.country,
                prefix=each.prefix,
            )


def forget_old_alarms() -> None:
    """Delete what nobody asks for any more."""
    with server_cursor() as cursor:
        cursor.execute(_FORGET, {"keep_for": KEEP_FOR})


@dataclass(slots=True)
class _Gathered:
    passed: int = 0
    refused: int = 0
    write_at: float = 0.0


class Gathering:
    """What one process has seen and not yet written; safe for its threads.

    Up to a second's worth waits for the next that falls under the same alarm.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[int, str], _Gathered] = {}

    def add(
        self, *, tenant_id: int, country: str, prefix: str, is_refused: bool
    ) -> None:
        """Count one message; write where that was not done for a second."""
        now = time.monotonic()
        with self._lock:
            if len(self._known) > 10_000:
                self._known.clear()
            gathered = self._known.setdefault((tenant_id, prefix), _Gathered())
            gathered.refused += is_refused
            gathered.passed += not is_refused
            if now < gathered.write_at:
                return
            suspicion = Suspicion(
                tenant_id=tenant_id,
                country=country,
                prefix=prefix,
                passed=gathered.passed,
                refused=gathered.refused,
            )
            gathered.passed = gathered.refused = 0
            gathered.write_at = now + _WRITE_SECONDS
        with server_cursor() as cursor:
            note(cursor, [suspicion])

    def clear(self) -> None:
        """Forget what is not yet written, for tests."""
        with self._lock:
            self._known.clear()
