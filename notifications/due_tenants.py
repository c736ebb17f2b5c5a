"""Which tenants have due rows of a class, found without reading those rows."""

from __future__ import annotations

from typing import NamedTuple

from foundation.statements import Cursor
from notifications.outbox import Poll

# One step into outbox_by_tenant for each tenant that has a row of the class, and one to
# see whether one of them is due. Without the floor the first step would walk all index
# entries of the tenant's rows that are gone; with it, PostgreSQL skips to the floor.
# BETWEEN as in the polls.
DUE_TENANTS = """
WITH RECURSIVE step(tenant_id, number) AS (
  SELECT %(after)s::bigint, 0
   UNION ALL
  SELECT (SELECT o.tenant_id FROM outbox o
           WHERE o.priority = %(priority)s AND o.priority >= 0
             AND o.channel = %(channel)s
             AND o.tenant_id > step.tenant_id AND o.due_at >= %(floor)s
           ORDER BY o.tenant_id, o.due_at LIMIT 1), number + 1
    FROM step WHERE step.tenant_id IS NOT NULL AND step.number < %(steps)s
)
SELECT coalesce(array_agg(step.tenant_id) FILTER (WHERE due.is_there), '{}'),
       CASE WHEN bool_and(step.tenant_id IS NOT NULL) THEN max(step.tenant_id) END
  FROM step LEFT JOIN LATERAL (
    SELECT true AS is_there FROM outbox o
     WHERE o.priority = %(priority)s AND o.priority >= 0
       AND o.channel = %(channel)s
       AND o.tenant_id BETWEEN step.tenant_id AND step.tenant_id
       AND o.due_at <= app_now() - %(overdue_by)s AND o.due_at >= %(floor)s
     ORDER BY o.tenant_id, o.due_at LIMIT 1) due ON true
 WHERE step.number > 0
"""


class DueTenants(NamedTuple):
    """Tenants with due rows, and the last one looked at: None when there are no more
    behind."""

    due: list[int]
    last: int | None


def due_tenants(
    cursor: Cursor, poll: Poll, *, after: int | None, steps: int
) -> DueTenants:
    """Look at the next tenants behind `after` that have rows of the poll's class.

    At most `steps` of them: those whose rows all lie in the future cost a step too.
    """
    cursor.execute(
        DUE_TENANTS,
        {
            "priority": poll.lane.priority.value,
            "channel": poll.lane.channel.value,
            "floor": poll.floor,
            "overdue_by": poll.overdue_by,
            # The ids of tenants begin at 1.
            "after": after or 0,
            "steps": steps,
        },
    )
    ((due, last),) = cursor.fetchall()
    return DueTenants(due, last)
