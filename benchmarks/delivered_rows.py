"""What deliveries left in the database, held against what the provider received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.failure import BenchmarkFailed

_SENT = """
SELECT id FROM delivery WHERE id >= %(floor)s AND status = 'sent'
"""
# Everything that both a batch and a task of its own must write, by how often.
_LEFT = """
SELECT 'delivery', d.status, d.claim_count, d.attempt_count, d.maybe_sent, d.provider,
       d.provider_message_id LIKE 'stub-dlv%%', d.reason || d.code,
       d.finished_at IS NOT NULL, count(*)
  FROM delivery d WHERE d.id >= %(floor)s GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
UNION ALL
SELECT 'audit_event', e.kind, e.tenant_id::int, (e.detail ->> 'attempt')::int,
       e.delivery_id IS NOT NULL, coalesce(e.detail ->> 'provider', ''),
       e.detail ->> 'provider_message_id' LIKE 'stub-dlv%%',
       e.actor || e.reason || (e.detail - 'provider_message_id' - 'channels'
                               - 'decisions')::text,
       e.notification_id IS NOT NULL, count(*)
  FROM audit_event e WHERE e.id >= %(floor)s GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
UNION ALL
SELECT 'outbox', '', 0, 0, false, '', false, '', false, count(*)
  FROM outbox o WHERE o.delivery_id >= %(floor)s HAVING count(*) > 0
 ORDER BY 1, 2
"""


def check_delivered(
    database: str, *, floor: UUID, received: Sequence[UUID], number: int
) -> list[tuple[Any, ...]]:
    """Return what rows the deliveries since `floor` left, without how many.

    Raises BenchmarkFailed unless all of them, `number`, are sent, and the provider
    received each of them once.
    """
    with psycopg.connect(database) as connection:
        sent = {row[0] for row in connection.execute(_SENT, {"floor": floor})}
        left = connection.execute(_LEFT, {"floor": floor}).fetchall()
    if len(sent) != number or len(received) != number or set(received) != sent:
        raise BenchmarkFailed(
            f"{number} accepted, {len(sent)} sent, {len(received)} calls for"
            f" {len(set(received))} deliveries"
        )
    return [row[:-1] for row in left]
