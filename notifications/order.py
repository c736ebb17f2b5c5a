"""Strict order: of the deliveries of one order key only the oldest may go out.

An order key is one person's address on one channel, within a category, a priority and
a tenant; deliveries of categories that are not ordered have none and cost nothing. The
rank within a key is (order_at, delivery_id). All that decides by it happens under the
key's lock: accept, claim, and the end of a delivery.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

import orjson

from foundation.statements import Cursor
from providers.channels import Channel
from tenants.categories import Category, Priority

# Why a delivery waits that is not the oldest of its key.
REASON = "order"
# And once there is nobody before it any more.
NEXT = "next_in_order"
# Whoever ends the one before wakes the next; should that ever fail, it looks itself.
LOOKS_AGAIN_AFTER = timedelta(minutes=10)


def order_key(
    *,
    person: tuple[int, str],
    channel: Channel,
    category: Category,
    priority: Priority,
    is_test: bool,
    address_key: bytes,
) -> int:
    """Name the queue of a delivery: 64 bits, which are its lock's number too.

    `person` is the tenant and its own user_id. A test waits for no live message, and
    HIGH never behind the others.

    Two queues of one number would wait for each other, and nothing worse.
    """
    named = orjson.dumps([*person, channel.key, category.value, priority.key, is_test])
    digest = sha256(named + address_key).digest()
    return int.from_bytes(digest[:8], signed=True)


_LOCK = "SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) key"


def lock_keys(cursor: Cursor, keys: Iterable[int]) -> None:
    """Take the locks of these keys, in order, until the end of the transaction.

    Behind the locks of outbox rows. Nobody may wait for an outbox row from here on, or
    for a delivery without one: its holder may be waiting for the key. Deliveries whose
    rows we hold are ours alone, before this as well as after it.
    """
    if in_order := sorted(set(keys)):
        cursor.execute(_LOCK, [in_order])


_OCCUPIED = """
SELECT r.key, app_now()
  FROM unnest(%s::bigint[]) r(key),
       LATERAL (SELECT FROM outbox o
                 WHERE o.order_key = r.key AND o.order_at <= app_now()
                 ORDER BY o.order_at LIMIT 1) older
"""


def occupied_until(cursor: Cursor, keys: Collection[int]) -> dict[int, datetime]:
    """Tell which of these keys, all locked, have an unfinished delivery that has come
    due, and until when a new one may wait for it without looking."""
    cursor.execute(_OCCUPIED, [list(keys)])
    return {row[0]: row[1] + LOOKS_AGAIN_AFTER for row in cursor.fetchall()}


# One step into outbox_order for each row; an EXISTS may be planned as a join.
_BEHIND = """
SELECT r.id
  FROM unnest(%s::uuid[]) r(id),
       LATERAL (SELECT o.order_key, o.order_at FROM outbox o
                 WHERE o.delivery_id = r.id OFFSET 0) own,
       LATERAL (SELECT FROM outbox o
                 WHERE o.order_key = own.order_key
                   AND (o.order_at, o.delivery_id) < (own.order_at, r.id)
                   AND o.delivery_id <> ALL (%s::uuid[])
                 ORDER BY o.order_at, o.delivery_id LIMIT 1) older
"""


def find_followers(
    cursor: Cursor, delivery_ids: Collection[UUID], *, ending: Collection[UUID]
) -> frozenset[UUID]:
    """Return which claimed deliveries, their keys locked, are not the oldest of theirs.

    The one before may be ending at this moment. Either it has the lock, and is gone
    when we look; or we have, and it finds us waiting when it wakes the next. Those that
    are `ending` in this transaction are as good as gone.
    """
    if not delivery_ids:
        return frozenset()
    cursor.execute(_BEHIND, [list(delivery_ids), list(ending)])
    return frozenset(row[0] for row in cursor.fetchall())


# A held row is left alone, since its holder may be waiting for our locks: a claim looks
# for itself once it has them, a poll of the relay takes only what is due anyhow.
_WAKE = """
UPDATE outbox o SET due_at = app_now()
 WHERE o.ctid = ANY (ARRAY(
   SELECT held.ctid
     FROM unnest(%s::bigint[]) r(key),
          LATERAL (SELECT o.delivery_id FROM outbox o WHERE o.order_key = r.key
                    ORDER BY o.order_at, o.delivery_id LIMIT 1) oldest,
          LATERAL (SELECT FROM delivery d
                    WHERE d.id = oldest.delivery_id AND d.status = 'pending'
                      AND d.reason = 'order' OFFSET 0) waits,
          LATERAL (SELECT o.ctid FROM outbox o
                    WHERE o.delivery_id = oldest.delivery_id
                      FOR UPDATE SKIP LOCKED) held))
RETURNING o.delivery_id
"""


def wake_next(cursor: Cursor, keys: Collection[int]) -> list[UUID]:
    """Lock the keys of deliveries that have just ended, and make due who waited for
    them; return those."""
    if not keys:
        return []
    lock_keys(cursor, keys)
    cursor.execute(_WAKE, [list(keys)])
    return [row[0] for row in cursor.fetchall()]
