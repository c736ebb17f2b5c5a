"""Outbox rows whose record is with the broker: noted, counted, claimed, made due again.

All of it is one class's, and all of it is guarded by the row's fence.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from foundation.statements import Cursor
from notifications.outbox import Lane, Taken
from notifications.transitions import Fence

# Fence and token: without them a late report would put off a row that has been claimed
# or re-dated since. Skipping a held row costs no more than one more record. The look-up
# is LATERAL as in outbox._LOCK_OWNED.
_RECORD = """
WITH reported AS MATERIALIZED (
  SELECT * FROM unnest(%s::uuid[], %s::int[], %s::timestamptz[]) r(id, n, token)
   ORDER BY id)
UPDATE outbox o SET published_at = app_now(), due_at = app_now() + %s
 WHERE o.ctid = ANY (ARRAY(
   SELECT held.ctid FROM reported r, LATERAL (
     SELECT o.ctid FROM outbox o
      WHERE o.delivery_id = r.id AND o.claim_count = r.n AND o.due_at = r.token
        FOR UPDATE SKIP LOCKED) held))
"""


def record_published(
    cursor: Cursor, taken: Sequence[Taken], *, horizon: timedelta
) -> int:
    """Note that the broker has these rows' records; return for how many it matters.

    A record that no consumer turns into a claim within `horizon` counts as lost.
    """
    if not taken:
        return 0
    cursor.execute(
        _RECORD,
        [
            [row.delivery_id for row in taken],
            [row.claim_count for row in taken],
            [row.token for row in taken],
            horizon,
        ],
    )
    return cursor.rowcount


# It waits for whoever holds a row, since a cancellation may be undone: a skipped
# record would be a lost one. In order, so that two batches never wait for each other;
# by id and not by ctid, since a row that was waited for may have moved.
_CLAIM = """
WITH records AS MATERIALIZED (
  SELECT * FROM unnest(%s::uuid[], %s::int[]) r(id, n) ORDER BY id)
UPDATE outbox o
   SET claim_count = o.claim_count + 1, due_at = app_now() + %s, published_at = NULL
 WHERE o.delivery_id = ANY (ARRAY(
   SELECT won.delivery_id FROM records r, LATERAL (
     SELECT o.delivery_id FROM outbox o
      WHERE o.delivery_id = r.id AND o.claim_count = r.n FOR UPDATE) won))
RETURNING o.delivery_id, o.claim_count
"""


def claim_published(
    cursor: Cursor, fences: Sequence[Fence], *, lease: timedelta
) -> list[Fence]:
    """Claim the rows whose fence is still that of their record; return the new fences.

    Rows are locked in order and waited for, as long as the connection's lock_timeout.
    """
    if not fences:
        return []
    cursor.execute(
        _CLAIM,
        [
            [fence.delivery_id for fence in fences],
            [fence.claim_count for fence in fences],
            lease,
        ],
    )
    return [Fence._make(row) for row in cursor.fetchall()]


# Nothing published is due later than the horizon: beyond lie the future rows. Records
# are claimed about in order, so that the next count may begin at the first of this one;
# else, beside an old snapshot, it steps over all that were published in a horizon. Five
# seconds are for another relay that is slower to record its own.
_COUNT = """
SELECT count(*), coalesce(min(due_at), app_now() + %(horizon)s) - interval '5 seconds'
  FROM (
    SELECT due_at FROM outbox
     WHERE priority = %(priority)s AND priority >= 0 AND channel = %(channel)s
       AND published_at IS NOT NULL AND due_at > greatest(app_now(), %(since)s)
       AND due_at <= app_now() + %(horizon)s
     ORDER BY due_at LIMIT %(at_most)s) published
"""


class Unclaimed(NamedTuple):
    """How many published rows nobody has claimed, and where the next count begins."""

    number: int
    since: datetime


def count_published(
    cursor: Cursor, lane: Lane, *, horizon: timedelta, at_most: int, since: datetime
) -> Unclaimed:
    """Count a class's published rows, due since a date, that nobody has claimed yet."""
    cursor.execute(
        _COUNT,
        {
            "priority": lane.priority.value,
            "channel": lane.channel.value,
            "horizon": horizon,
            "at_most": at_most,
            "since": since,
        },
    )
    (row,) = cursor.fetchall()
    return Unclaimed._make(row)


_REDATE_PUBLISHED = """
UPDATE outbox o SET due_at = app_now(), published_at = NULL
 WHERE o.ctid = ANY (ARRAY(
   SELECT ctid FROM outbox
    WHERE priority = %s AND priority >= 0 AND channel = %s
      AND published_at IS NOT NULL
      AND due_at > app_now() AND due_at <= app_now() + %s
    ORDER BY due_at LIMIT %s FOR UPDATE SKIP LOCKED))
"""


def redate_published(
    cursor: Cursor, lane: Lane, *, horizon: timedelta, limit: int
) -> int:
    """Make published rows due now, since their records are gone; return how many."""
    cursor.execute(
        _REDATE_PUBLISHED, [lane.priority.value, lane.channel.value, horizon, limit]
    )
    return cursor.rowcount
