"""Millions of finished deliveries of the last months, by INSERT .. SELECT.

As narrow as they can be: no content, keys or audit trail, which neither the relay nor
a claim ever reads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg

_MONTHS = 6
# A week is one statement: ids grow with it, as they do in production.
_WEEKS = 24
_SESSIONS = 2
_CHANNELS = 4
_MAKE_PARTITIONS = """
SELECT make_partition(parent, (now() - n * interval '1 month')::date)
  FROM unnest(ARRAY['notification', 'notification_content', 'delivery', 'audit_event'])
       parent, generate_series(0, %s) n
"""
_ADD = """
WITH past AS MATERIALIZED (
  SELECT uuidv7(-interval '1 day' - %(week)s * interval '1 week'
                + n * interval '100 microseconds') AS id, n
    FROM generate_series(1, %(count)s) n
), version AS MATERIALIZED (
  SELECT v.id, v.content_hash, t.tenant_id
    FROM template_version v JOIN template t ON t.id = v.template_id
   WHERE t.name = %(template)s LIMIT 1
), noted AS (
  INSERT INTO notification (id, tenant_id, user_id, template_version_id, content_hash,
                            category, priority, locale, reference, is_test, accepted_by,
                            send_at)
  SELECT p.id, v.tenant_id, 'usr_' || lpad((n %% 100000)::text, 6, '0'), v.id,
         v.content_hash, 'transactional', n %% 3, '', '', false, 'service:bench',
         app_now() - %(week)s * interval '1 week'
    FROM past p, version v
)
INSERT INTO delivery (id, notification_id, tenant_id, channel, category, status,
                      claim_count, attempt_count, address_key, retry_until, provider,
                      finished_at)
SELECT (left(p.id::text, 13) || substr(uuidv7()::text, 14))::uuid, p.id, v.tenant_id,
       channel, 'transactional', 'sent', 1, 1, sha256(n::text::bytea),
       app_now() - %(week)s * interval '1 week', 'http',
       app_now() - %(week)s * interval '1 week'
  FROM past p, version v, unnest(ARRAY[1, 2, 3, 4]) channel
"""


def add_finished(owner: str, *, deliveries: int, template: str) -> None:
    """Add that many to the partitions of half a year."""
    with psycopg.connect(owner) as connection:
        connection.execute(_MAKE_PARTITIONS, [_MONTHS])
    add = partial(
        _add_weeks,
        owner,
        count=deliveries // (_CHANNELS * _WEEKS),
        template=template,
    )
    with ThreadPoolExecutor(_SESSIONS) as threads:
        list(threads.map(add, [range(n, _WEEKS, _SESSIONS) for n in range(_SESSIONS)]))


def _add_weeks(owner: str, weeks: range, *, count: int, template: str) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        for week in weeks:
            connection.execute(
                _ADD, {"week": week, "count": count, "template": template}
            )


def count_finished(database: str) -> int:
    """Count the finished deliveries."""
    with psycopg.connect(database) as connection:
        row = connection.execute(
            "SELECT count(*) FROM delivery WHERE finished_at IS NOT NULL"
        ).fetchone()
    return int(row[0]) if row else 0
