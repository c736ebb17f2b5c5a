"""Rows that a relay finds due: the platform's and, on a table of its own, the seed's.

Made by one INSERT .. SELECT and one commit, and each due a microsecond after the one
before it, as if they had been accepted in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import psycopg
from psycopg import sql

from benchmarks.accepted_rows import TABLES
from benchmarks.failure import BenchmarkFailed
from foundation.ids import floor_id


@dataclass(frozen=True, slots=True, kw_only=True)
class DueRows:
    """How one side's rows come to be, are known to be published, and go again."""

    # Adds %(rows)s of them, spread evenly over the side's lanes.
    add: str
    # Finds one whose publication is not yet recorded, by an index; none of them is due
    # before %(since)s.
    unrecorded: str
    # Lists those since %(floor)s: id, and whether its publication is recorded.
    listed: str
    # Tables by the column that holds an id minted with or after the row's.
    tables: Mapping[str, str]
    # Those of them that are no queue: deleting from them is the benchmark's own doing.
    beside: Sequence[str] = ()


# Three classes in turns and four channels each: a twelfth for every lane.
OUTBOX = DueRows(
    add="""
WITH accepted AS MATERIALIZED (
  SELECT uuidv7() AS id, n, (n %% 3)::smallint AS priority
    FROM generate_series(1, %(rows)s / 4) n
), version AS MATERIALIZED (
  SELECT v.id, v.content_hash, t.tenant_id
    FROM template_version v JOIN template t ON t.id = v.template_id
   WHERE t.name = %(template)s LIMIT 1
), noted AS (
  INSERT INTO notification (id, tenant_id, user_id, template_version_id, content_hash,
                            category, priority, locale, reference, is_test, accepted_by,
                            send_at)
  SELECT a.id, v.tenant_id, 'usr_000001', v.id, v.content_hash, 'transactional',
         a.priority, '', '', false, 'service:bench', app_now()
    FROM accepted a, version v
), fanned_out AS MATERIALIZED (
  SELECT (left(a.id::text, 13) || substr(uuidv7()::text, 14))::uuid AS id,
         a.id AS notification_id, a.n, a.priority, channel
    FROM accepted a, unnest(ARRAY[1, 2, 3, 4]) channel
), pending AS (
  INSERT INTO delivery (id, notification_id, tenant_id, channel, category, status,
                        address_key, retry_until)
  SELECT f.id, f.notification_id, v.tenant_id, f.channel, 'transactional', 'pending',
         sha256(f.id::text::bytea), app_now() + interval '1 day'
    FROM fanned_out f, version v
), queued AS (
  INSERT INTO outbox (delivery_id, tenant_id, channel, priority, claim_count, due_at)
  SELECT f.id, v.tenant_id, f.channel, f.priority, 0,
         app_now() - interval '1 second' + f.n * interval '1 microsecond'
    FROM fanned_out f, version v
)
INSERT INTO audit_event (id, tenant_id, kind, actor, notification_id, delivery_id,
                         reason, detail)
SELECT a.id, v.tenant_id, 'notification.accepted', 'service:bench', a.id, NULL, '',
       '{}'::jsonb
  FROM accepted a, version v
""",
    # What is published is due beyond the horizon; what is being published, in seconds.
    unrecorded="""
SELECT FROM generate_series(0, 2) priority, generate_series(1, 4) channel,
       LATERAL (SELECT FROM outbox o
                 WHERE o.priority = priority.priority AND o.priority >= 0
                   AND o.channel = channel.channel
                   AND o.due_at >= %(since)s
                   AND o.due_at < app_now() + interval '30 seconds'
                   AND o.published_at IS NULL
                 ORDER BY o.due_at LIMIT 1) waiting
 LIMIT 1
""",
    listed="""
SELECT delivery_id, published_at IS NOT NULL AND claim_count = 0 FROM outbox
 WHERE delivery_id >= %(floor)s
""",
    tables=TABLES,
    beside=("notification", "delivery", "audit_event"),
)

# The first design's table, index and statuses, filled with the same past. It lacks the
# foreign key, which an UPDATE of the status never asks, has ids that sort by time, and
# is vacuumed as often as the outbox: all of it is to its advantage.
SEED_TABLE = """
CREATE SCHEMA seed;
CREATE TABLE seed.delivery (
  id uuid PRIMARY KEY,
  notification_id uuid NOT NULL,
  channel varchar(10) NOT NULL,
  priority smallint NOT NULL,
  status varchar(10) NOT NULL,
  attempts int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  last_error text,
  UNIQUE (notification_id, channel)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX idx_delivery_due ON seed.delivery (priority, next_attempt_at)
  WHERE status = 'PENDING';
INSERT INTO seed.delivery (id, notification_id, channel, priority, status)
SELECT id, notification_id, channel, 1, 'SENT' FROM public.delivery;
GRANT USAGE ON SCHEMA seed TO PUBLIC;
GRANT SELECT, UPDATE ON seed.delivery TO PUBLIC;
"""
SEED = DueRows(
    add="""
INSERT INTO seed.delivery (id, notification_id, channel, priority, status,
                           next_attempt_at)
SELECT uuidv7(), uuidv7(), 'EMAIL', n %% 3, 'PENDING',
       now() - interval '1 second' + n * interval '1 microsecond'
  FROM generate_series(1, %(rows)s) n
""",
    unrecorded="SELECT FROM seed.delivery WHERE status = 'PENDING' LIMIT 1",
    listed="SELECT id, status = 'QUEUED' FROM seed.delivery WHERE id >= %(floor)s",
    tables={"seed.delivery": "id"},
)


def begin() -> UUID:
    """Return the floor under the ids of all rows that are added from now on."""
    return floor_id(datetime.now(UTC))


def recorded(database: str, due: DueRows, *, floor: UUID) -> set[UUID]:
    """Return the ids of the rows since; raise unless all are recorded as published."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(due.listed, {"floor": floor}).fetchall()
    left = sum(not is_recorded for _, is_recorded in rows)
    if left:
        raise BenchmarkFailed(f"{left} of {len(rows)} rows are not published")
    return {identifier for identifier, _ in rows}


def check_published(rows: set[UUID], records: Sequence[UUID]) -> None:
    """Raise unless there is one record for every row."""
    if len(records) != len(rows) or set(records) != rows:
        raise BenchmarkFailed(
            f"{len(rows)} rows, {len(records)} records of {len(set(records))} rows,"
            f" {len(rows - set(records))} of them without any"
        )


def forget(owner: str, due: DueRows, *, floor: UUID) -> None:
    """Delete what was added since."""
    with psycopg.connect(owner) as connection:
        # Past the triggers that guard the audit; the owner of the tables may.
        connection.execute("SET LOCAL session_replication_role = replica")
        for table, column in due.tables.items():
            connection.execute(
                sql.SQL("DELETE FROM {} WHERE {} >= %s").format(
                    sql.Identifier(*table.split(".")), sql.Identifier(column)
                ),
                [floor],
            )


def tidy(owner: str, due: DueRows) -> None:
    """Leave no dead rows but the queue's: those are autovacuum's, as in production."""
    with psycopg.connect(owner, autocommit=True) as connection:
        for table in due.beside:
            connection.execute(
                sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(table))
            )
