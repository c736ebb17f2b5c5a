"""Count failed authentications by client address; the right credential costs nothing.

Counted in the cache: without it nobody is throttled, and nobody is let in either.
"""

from __future__ import annotations

from datetime import timedelta

from django.core.cache import cache

ALLOWED = 20
WINDOW = timedelta(minutes=1)


class TooManyFailedAttempts(Exception):
    """Too many failed authentications from this address."""

    retry_after = WINDOW


def record_failed_attempt(*, address: str) -> None:
    """Count one more; raise TooManyFailedAttempts beyond what a minute allows."""
    key = f"failed-authentications:{address}"
    cache.add(key, 0, timeout=WINDOW.total_seconds())
    try:
        count = cache.incr(key)
    except ValueError:  # the window ended between the two calls
        return
    # None is what django-redis answers when there is no Valkey.
    if (count or 0) > ALLOWED:
        raise TooManyFailedAttempts
