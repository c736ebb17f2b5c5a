"""Write the audit trail: one statement for any number of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import orjson

from audit.events import AuditRecord
from foundation.ids import new_id


class Executes(Protocol):
    """A cursor, Django's or psycopg's."""

    def execute(self, query: str, params: Sequence[Any], /) -> Any: ...


INSERT_EVENTS = """
INSERT INTO audit_event
  (id, tenant_id, kind, actor, notification_id, delivery_id, reason, detail)
SELECT * FROM unnest(%s::uuid[], %s::bigint[], %s::text[], %s::text[],
                     %s::uuid[], %s::uuid[], %s::text[], %s::jsonb[])
"""


def record_events(cursor: Executes, events: Sequence[AuditRecord]) -> None:
    """Append events within the caller's transaction, so that they stand or fall
    with what they tell about."""
    if not events:
        return
    cursor.execute(
        INSERT_EVENTS,
        [
            [new_id() for _ in events],
            [event.tenant_id for event in events],
            [event.kind.value for event in events],
            [event.actor for event in events],
            [event.notification_id for event in events],
            [event.delivery_id for event in events],
            [event.reason for event in events],
            [orjson.dumps(event.detail).decode() for event in events],
        ],
    )
