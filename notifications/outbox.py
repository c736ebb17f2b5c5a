"""The narrow queue that is also the lock: an unfinished delivery has one row here.

Every actor wins or loses on this row first; claim_count is the fence and due_at says
when the row must next be taken up, whatever became of whoever held it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from typing import NamedTuple
from uuid import UUID

from foundation.statements import Cursor
from notifications import order
from notifications.metrics import observe_outbox_age
from notifications.transitions import BrokenInvariant, Fence, note_reason
from providers.channels import Channel
from tenants.categories import Priority


class Lane(NamedTuple):
    """A class of work: what is polled, and later carried, on its own."""

    priority: Priority
    channel: Channel

    @property
    def is_high(self) -> bool:
        return self.priority is Priority.HIGH

    @property
    def keys(self) -> dict[str, str]:
        """Name it, for metrics."""
        return {"priority": self.priority.key, "channel": self.channel.key}


LANES = tuple(Lane(*pair) for pair in product(Priority, Channel))

# One text per class, priority and channel written out: with parameters a generic plan
# could not use them, and one ORDER BY across classes walks every future row of the
# higher ones (65 ms against 0.65 ms with 3 M of them). A poller that crashes before
# its COMMIT locked nothing; others skip what it holds.
_IS_DUE = {
    lane: f"""
       priority = {lane.priority.value} AND channel = {lane.channel.value}
       AND due_at <= app_now() - %(overdue_by)s AND due_at >= %(floor)s
"""
    for lane in LANES
}
_OLDEST_DUE = {
    lane: f"""
   SELECT ctid FROM outbox
    WHERE {is_due}
    ORDER BY due_at, delivery_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - our own text
    for lane, is_due in _IS_DUE.items()
}
# BETWEEN and not "=", and sorted by the tenant: a planner that knows of one tenant
# alone would else walk all that is due in outbox_due, to filter it by tenant.
_DUE_IN_SHARES = {
    lane: f"""
   SELECT due.ctid
     FROM unnest(%(tenants)s::bigint[], %(most)s::int[]) share(tenant_id, most),
          LATERAL (
            SELECT ctid FROM outbox
             WHERE tenant_id BETWEEN share.tenant_id AND share.tenant_id AND {is_due}
             ORDER BY tenant_id, due_at, delivery_id LIMIT share.most
               FOR UPDATE SKIP LOCKED) due
"""  # noqa: S608 - our own text
    for lane, is_due in _IS_DUE.items()
}
_CLAIM = """
UPDATE outbox o
   SET claim_count = o.claim_count + 1, due_at = app_now() + %(lease)s,
       published_at = NULL
"""
_DATE_AHEAD = "UPDATE outbox o SET due_at = app_now() + %(lease)s"
_WHICH = """
 WHERE o.ctid = ANY (ARRAY({due}))
RETURNING o.delivery_id, o.claim_count, o.tenant_id, o.due_at, app_now()
"""


class PollTexts(NamedTuple):
    """The texts of one class's poll: whoever's are the oldest, and by shares."""

    oldest: str
    in_shares: str


def _texts(action: str) -> dict[Lane, PollTexts]:
    return {
        lane: PollTexts(
            oldest=action + _WHICH.format(due=_OLDEST_DUE[lane]),
            in_shares=action + _WHICH.format(due=_DUE_IN_SHARES[lane]),
        )
        for lane in LANES
    }


_POLL_AND_CLAIM = _texts(_CLAIM)
_TAKE = _texts(_DATE_AHEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """Which rows to take: one class, not due before `floor`, due for at least
    `overdue_by`; they are dated ahead by `lease`. At most `limit`, whoever's are the
    oldest, or where there are `shares`, at most so many of each of these tenants."""

    lane: Lane
    floor: datetime
    limit: int
    lease: timedelta
    overdue_by: timedelta = timedelta(0)
    shares: Mapping[int, int] | None = None

    @property
    def parameters(self) -> dict[str, object]:
        """Fill the texts of polls."""
        shares = self.shares or {}
        return {
            "lease": self.lease,
            "floor": self.floor,
            "limit": self.limit,
            "overdue_by": self.overdue_by,
            "tenants": list(shares),
            "most": list(shares.values()),
        }


def poll_statements(lane: Lane) -> tuple[PollTexts, PollTexts]:
    """Return the texts of one class's polls, for the test of their plans."""
    return _POLL_AND_CLAIM[lane], _TAKE[lane]


class Taken(NamedTuple):
    """A row that a poll took; `token` is the date that it was given."""

    delivery_id: UUID
    claim_count: int
    tenant_id: int
    token: datetime

    @property
    def fence(self) -> Fence:
        return Fence(self.delivery_id, self.claim_count)


def poll_and_claim(cursor: Cursor, poll: Poll) -> tuple[list[Taken], datetime | None]:
    """Take due rows of one class and claim them; skip what others hold.

    Also returns the database's time of the poll, None if nothing was due.
    """
    return _poll(cursor, _POLL_AND_CLAIM, poll)


def take(cursor: Cursor, poll: Poll) -> tuple[list[Taken], datetime | None]:
    """Date due rows of one class ahead, to publish them; skip what others hold.

    Also returns the database's time of the poll, None if nothing was due.
    """
    return _poll(cursor, _TAKE, poll)


def _poll(
    cursor: Cursor, texts: Mapping[Lane, PollTexts], poll: Poll
) -> tuple[list[Taken], datetime | None]:
    oldest, in_shares = texts[poll.lane]
    cursor.execute(oldest if poll.shares is None else in_shares, poll.parameters)
    rows = cursor.fetchall()
    return [Taken._make(row[:4]) for row in rows], rows[0][4] if rows else None


# LATERAL and FOR UPDATE inside: one index look-up a row, in order, whatever the planner
# believes. A vacuum that saw the table empty makes it expect one row for hours, and a
# join then compares every row with every fence: 15 s for 500 among 24,000.
_LOCK_OWNED = """
WITH fences AS MATERIALIZED (
  SELECT * FROM unnest(%s::uuid[], %s::int[]) r(id, n) ORDER BY id)
SELECT owned.* FROM fences r, LATERAL (
  SELECT o.delivery_id, o.claim_count FROM outbox o
   WHERE o.delivery_id = r.id AND o.claim_count = r.n FOR UPDATE) owned
"""


def lock_owned(cursor: Cursor, fences: Sequence[Fence]) -> set[Fence]:
    """Lock the rows whose fence still holds, in order; return those fences.

    Fences and not ids: one batch may hold an answer from before a take-over and the
    answer of the take-over itself.
    """
    cursor.execute(
        _LOCK_OWNED,
        [
            [fence.delivery_id for fence in fences],
            [fence.claim_count for fence in fences],
        ],
    )
    return {Fence._make(row) for row in cursor.fetchall()}


# An array out of a subquery, for the same reason: of a plain one the planner knows how
# long it is, and reads the whole table rather than look up so many in an empty one.
_LOCK = """
SELECT delivery_id FROM outbox
 WHERE delivery_id = ANY (ARRAY(SELECT unnest(%s::uuid[])))
 ORDER BY delivery_id FOR UPDATE
"""


def lock(cursor: Cursor, delivery_ids: Sequence[UUID]) -> set[UUID]:
    """Lock the rows of these deliveries, in order; return which have one."""
    cursor.execute(_LOCK, [list(delivery_ids)])
    return {row[0] for row in cursor.fetchall()}


_DELETE = """
WITH gone AS (
  DELETE FROM outbox WHERE delivery_id = ANY (ARRAY(SELECT unnest(%s::uuid[])))
  RETURNING order_key)
SELECT DISTINCT order_key FROM gone WHERE order_key IS NOT NULL
"""


def delete(cursor: Cursor, delivery_ids: Sequence[UUID]) -> None:
    """Drop the rows of finished deliveries and wake who waited for them in order; the
    caller holds their locks, and takes no other rows' from here on."""
    if delivery_ids:
        cursor.execute(_DELETE, [list(delivery_ids)])
        woken = order.wake_next(cursor, [row[0] for row in cursor.fetchall()])
        note_reason(cursor, woken, order.NEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redate:
    """When a row is due again: after a delay, at a date, or (neither) never."""

    delivery_id: UUID
    delay: timedelta | None = None
    at: datetime | None = None


# claim_count is raised here too: a stale record must not claim before the new date.
# Never is a far date, since 'infinity' does not fit into Python's datetime. ON CONFLICT
# always takes place: it finds the row by its key where UPDATE FROM may be a join.
_REDATE = """
INSERT INTO outbox (delivery_id, tenant_id, channel, priority, claim_count, due_at)
SELECT o.delivery_id, o.tenant_id, o.channel, o.priority, o.claim_count + 1,
       coalesce(app_now() + r.delay, r.at, '9999-12-31 00:00:00+00')
  FROM unnest(%s::uuid[], %s::interval[], %s::timestamptz[]) r(id, delay, at),
       LATERAL (SELECT * FROM outbox o WHERE o.delivery_id = r.id OFFSET 0) o
ON CONFLICT (delivery_id) DO UPDATE
   SET claim_count = excluded.claim_count, due_at = excluded.due_at,
       published_at = NULL
RETURNING delivery_id, claim_count
"""


def redate(cursor: Cursor, redates: Sequence[Redate]) -> dict[UUID, int]:
    """Give locked rows a new date; return their raised claim_counts."""
    if not redates:
        return {}
    cursor.execute(
        _REDATE,
        [
            [redate.delivery_id for redate in redates],
            [redate.delay for redate in redates],
            [redate.at for redate in redates],
        ],
    )
    counts: dict[UUID, int] = dict(cursor.fetchall())
    if len(counts) != len(redates):
        raise BrokenInvariant({redate.delivery_id for redate in redates} ^ set(counts))
    return counts


# A parked delivery still has its row, a dead one gets a new one.
_REVIVE = """
INSERT INTO outbox (delivery_id, tenant_id, channel, priority, claim_count, due_at,
                    order_key, order_at)
SELECT d.id, d.tenant_id, d.channel, n.priority, r.claim_count, app_now(),
       d.order_key, CASE WHEN d.order_key IS NOT NULL THEN n.send_at END
  FROM unnest(%s::uuid[], %s::int[]) r(id, claim_count)
  JOIN delivery d ON d.id = r.id
  JOIN notification n ON n.id = d.notification_id
ON CONFLICT (delivery_id) DO UPDATE
   SET claim_count = excluded.claim_count, due_at = excluded.due_at,
       published_at = NULL
"""


def revive(cursor: Cursor, counts: dict[UUID, int]) -> None:
    """Make replayed deliveries due now, under their raised claim_counts."""
    if not counts:
        return
    cursor.execute(_REVIVE, [list(counts), list(counts.values())])
    if cursor.rowcount != len(counts):
        raise BrokenInvariant(counts)


# claim_count stays, unlike in a redate: it must be that of the delivery, which may be
# what is wrong here. A second record of the same fence fails at most once more.
_SET_ASIDE = """
UPDATE outbox SET due_at = app_now() + %s, published_at = NULL
 WHERE delivery_id = ANY (%s::uuid[])
"""


def set_aside(
    cursor: Cursor, delivery_ids: Collection[UUID], *, delay: timedelta
) -> None:
    """Put rows off whose delivery is not as it must be, so that the lane goes on; the
    transport skips their records once this is committed."""
    cursor.execute(_SET_ASIDE, [delay, list(delivery_ids)])


# min() of each class is one step into outbox_due.
_OLDEST = """
SELECT priority, channel,
       greatest(extract(epoch FROM app_now() - (
         SELECT min(o.due_at) FROM outbox o
          WHERE o.priority = class.priority AND o.priority >= 0
            AND o.channel = class.channel)), 0)::float8
  FROM unnest(%s::smallint[], %s::smallint[]) class(priority, channel)
"""


def sample_ages(cursor: Cursor) -> None:
    """Measure for each class how long its oldest due row has been waiting."""
    cursor.execute(
        _OLDEST,
        [
            [lane.priority.value for lane in LANES],
            [lane.channel.value for lane in LANES],
        ],
    )
    for priority, channel, seconds in cursor.fetchall():
        observe_outbox_age(
            priority=Priority(priority).key,
            channel=Channel(channel).key,
            seconds=seconds,
        )
