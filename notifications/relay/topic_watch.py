"""Notice topics that were deleted or made anew: their records are gone.

A topic has an id, and one that is made again has another. The ids that were seen last
lie in a table, so that a relay that was not running meanwhile notices it too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta

import structlog

from foundation.statements import Cursor, server_cursor
from notifications.outbox import Lane
from notifications.published import redate_published
from notifications.transport.kafka.topics import TopicsUnavailable, topic, topic_ids

log = structlog.get_logger(__name__)

_LOOK_EVERY_SECONDS = 3.0
_CHUNK = 5_000

_SEEN = "SELECT topic_id FROM seen_topic WHERE name = %s"
_NOTE = """
INSERT INTO seen_topic (name, topic_id) VALUES (%s, %s)
    ON CONFLICT (name) DO UPDATE SET topic_id = excluded.topic_id, seen_at = app_now()
"""


class TopicWatch:
    """Knows which lanes have a topic, and re-dates what a lost one held."""

    def __init__(self, lanes: Iterable[Lane], *, horizon: timedelta) -> None:
        self._lanes = tuple(lanes)
        self._horizon = horizon
        self._look_from = 0.0
        self.present: frozenset[Lane] = frozenset()

    def look(self) -> None:
        """Ask the broker every few seconds; one that is away tells nothing."""
        if time.monotonic() < self._look_from:
            return
        try:
            found = topic_ids(self._lanes)
        except TopicsUnavailable as unavailable:
            log.warning("topics_unknown", reason=str(unavailable))
            return
        finally:
            # After a failure too: the question may have taken seconds itself.
            self._look_from = time.monotonic() + _LOOK_EVERY_SECONDS
        for lane in set(self._lanes) - found.keys():
            log.error("topic_missing", topic=topic(lane), mend="declare_topics")
        for lane, identity in found.items():
            self._compare(lane, identity)
        self.present = frozenset(found)

    def _compare(self, lane: Lane, identity: str) -> None:
        with server_cursor() as cursor:
            seen = _seen(cursor, topic(lane))
        if seen == identity:
            return
        if seen is not None:
            log.warning("topic_made_anew", topic=topic(lane))
            number = republish(lane, horizon=self._horizon)
            log.warning("published_again", topic=topic(lane), number=number)
        with server_cursor() as cursor:
            cursor.execute(_NOTE, [topic(lane), identity])


def republish(lane: Lane, *, horizon: timedelta) -> int:
    """Make due what was published and not claimed; return how many rows."""
    total = 0
    while True:
        with server_cursor() as cursor:
            number = redate_published(cursor, lane, horizon=horizon, limit=_CHUNK)
        total += number
        if number < _CHUNK:
            return total


def _seen(cursor: Cursor, name: str) -> str | None:
    cursor.execute(_SEEN, [name])
    row = cursor.fetchone()
    return None if row is None else str(row[0])
