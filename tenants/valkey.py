"""How processes that serve requests ask Valkey: briefly, and once."""

from __future__ import annotations

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

AWAY = (RedisError, OSError)
_ANSWER_SECONDS = 0.1


def connect(url: str) -> Redis:
    """Make a client that waits for no answer longer than a request can bear.

    No connection is made yet: a process may be forked before it asks.
    """
    return Redis.from_url(
        url,
        socket_timeout=_ANSWER_SECONDS,
        socket_connect_timeout=_ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
