"""What HTTP answers mean for a message, as data."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from providers.base import Verdict

_LONGEST_WAIT = timedelta(days=1)

# Of an endpoint that takes messages. Not here: 2xx, which is for the adapter to judge,
# and 503, which proves "not processed" only together with Retry-After.
STATUSES: Mapping[int, Verdict] = {
    400: Verdict.BAD_MESSAGE,
    401: Verdict.ACCOUNT_FAULT,
    402: Verdict.ACCOUNT_FAULT,
    403: Verdict.ACCOUNT_FAULT,
    404: Verdict.ACCOUNT_FAULT,
    405: Verdict.ACCOUNT_FAULT,
    407: Verdict.ACCOUNT_FAULT,
    408: Verdict.TRANSIENT,
    # The draft on Idempotency-Key: the first request with this key is not done yet.
    409: Verdict.TRANSIENT,
    410: Verdict.ACCOUNT_FAULT,
    413: Verdict.BAD_MESSAGE,
    415: Verdict.ACCOUNT_FAULT,
    422: Verdict.BAD_MESSAGE,
    425: Verdict.TRANSIENT,
    429: Verdict.RATE_LIMITED,
    500: Verdict.UNKNOWN,
    502: Verdict.UNKNOWN,
    504: Verdict.UNKNOWN,
}


def verdict_of_status(status: int, *, retry_after: timedelta | None) -> Verdict:
    """Say what a status means; the ones that prove nothing are UNKNOWN."""
    if status == 503 and retry_after is not None:
        return Verdict.TRANSIENT
    if 300 <= status < 400:
        return Verdict.ACCOUNT_FAULT
    if 400 <= status < 500:
        return STATUSES.get(status, Verdict.BAD_MESSAGE)
    return STATUSES.get(status, Verdict.UNKNOWN)


def parse_retry_after(text: str | None, *, now: datetime) -> timedelta | None:
    """Read a Retry-After of seconds or a date; None for anything else.

    Whoever says longer than a day is taken to mean a day.
    """
    wait = _read_wait(text or "", now)
    return None if wait is None else min(max(wait, timedelta()), _LONGEST_WAIT)


def _read_wait(text: str, now: datetime) -> timedelta | None:
    if text.isascii() and text.isdigit():
        return timedelta(seconds=int(text[:9]))
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
