"""When what waited for an hour goes out: not all of it at eight o'clock sharp."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b

_BYTES = 7


def release_at(
    until: datetime,
    *,
    person: tuple[int, str],
    spread: timedelta,
    expires_at: datetime | None,
) -> datetime:
    """Return a moment within `spread` after `until`; all of a person's is due at one,
    so that it keeps its order.

    What expires meanwhile goes out in the first half of the time that it has left.
    """
    if expires_at is not None:
        spread = min(spread, max((expires_at - until) / 2, timedelta(0)))
    digest = blake2b(repr(person).encode(), digest_size=_BYTES).digest()
    return until + spread * (int.from_bytes(digest) / (1 << 8 * _BYTES))
