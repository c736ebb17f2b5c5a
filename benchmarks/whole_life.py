"""What PostgreSQL alone can do: the statements of a delivery's life, and nothing else.

Runs inside Django: `manage.py shell -c "from benchmarks.whole_life import …"`.
"""

from __future__ import annotations

import json
import time
from datetime import timedelta
from uuid import UUID

from django.db import connection, transaction

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from benchmarks.due_rows import OUTBOX
from foundation.database_clock import database_now
from foundation.statements import Cursor, server_cursor
from notifications import outbox, transitions
from notifications.dispatch.judging import retry_windows
from notifications.outbox import LANES, Poll
from notifications.statuses import DeliveryStatus
from notifications.transitions import Arrow, Begun

_BATCH = 500
_LEASE = timedelta(minutes=1)


def print_rate(*, rounds: int, rows: int, template: str) -> None:
    """Print how many lives a second one connection runs through, as JSON."""
    started, number = time.monotonic(), 0
    for _ in range(rounds):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(OUTBOX.add, {"rows": rows, "template": template})
        number += sum(map(_live, LANES))
    print(json.dumps(number / (time.monotonic() - started)))


def _live(lane: outbox.Lane) -> int:
    """Claim and settle all due rows of a lane; return how many."""
    floor = database_now() - timedelta(hours=1)
    number = 0
    while True:
        with transaction.atomic(), server_cursor() as cursor:
            poll = Poll(lane=lane, floor=floor, limit=_BATCH, lease=_LEASE)
            taken, _ = outbox.poll_and_claim(cursor, poll)
            if not taken:
                return number
            fences = [row.fence for row in taken]
            begun = transitions.begin_sending(
                cursor, fences, retry_windows=retry_windows()
            )
        with transaction.atomic(), server_cursor() as cursor:
            settle(cursor, begun)
        number += len(begun)


def settle(cursor: Cursor, begun: list[Begun]) -> None:
    """Let claimed deliveries be sent, with their audit trail."""
    fences = [transitions.Fence(row.delivery_id, row.claim_count) for row in begun]
    owned = outbox.lock_owned(cursor, fences)
    outbox.delete(cursor, [fence.delivery_id for fence in owned])
    transitions.settle(cursor, [_arrow(fence) for fence in fences])
    record_events(cursor, [_event(row) for row in begun])


def _arrow(fence: transitions.Fence) -> Arrow:
    return Arrow(
        fence=fence,
        next_claim_count=fence.claim_count,
        status=DeliveryStatus.SENT,
        counted=True,
        unresolved=False,
        provider="http",
        provider_message_id=_message_id(fence.delivery_id),
    )


def _event(row: Begun) -> AuditRecord:
    return AuditRecord(
        kind=EventKind.DELIVERY_SENT,
        tenant_id=row.tenant_id,
        actor="worker",
        notification_id=row.notification_id,
        delivery_id=row.delivery_id,
        detail={"provider_message_id": _message_id(row.delivery_id)},
    )


def _message_id(delivery_id: UUID) -> str:
    return f"stub-{delivery_id}"
