"""Give deliveries that wait for a person another try: same id, same rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.statements import Cursor, server_cursor
from notifications import outbox, transitions

# In batches: a replay of fifty thousand must not hold its locks for minutes.
BATCH = 500

_CANDIDATES = """
SELECT d.id, d.notification_id, d.tenant_id, d.category,
       CASE WHEN d.status NOT IN ('dead', 'parked') THEN 'not_stuck'
            WHEN d.expires_at <= app_now() THEN 'expired'
            WHEN d.maybe_sent AND NOT %(even_if_maybe_sent)s THEN 'maybe_sent'
       END
  FROM unnest(%(ids)s::uuid[]) r(id) JOIN delivery d ON d.id = r.id
 WHERE d.tenant_id = ANY (%(tenant_ids)s)
"""

REPLAYED = "replayed"
UNKNOWN = "unknown"


def replay(
    delivery_ids: Collection[UUID],
    *,
    tenant_ids: Collection[int],
    actor: str,
    even_if_maybe_sent: bool = False,
) -> Counter[str]:
    """Take dead and parked deliveries back to pending, due now.

    Only those of the given tenants; opt-outs, expiry and addresses are looked at again
    in the claim like everybody's. What may have been sent is left out unless asked
    for, since nobody may get a message twice by accident. Returns how many ended how:
    replayed, expired, maybe_sent, not_stuck, unknown.
    """
    outcome: Counter[str] = Counter()
    ids = sorted(set(delivery_ids))
    for first in range(0, len(ids), BATCH):
        batch = ids[first : first + BATCH]
        with transaction.atomic(durable=True), server_cursor() as cursor:
            # A parked delivery has its row: win or lose on it first, like everybody.
            outbox.lock(cursor, batch)
            cursor.execute(
                _CANDIDATES,
                {
                    "ids": batch,
                    "tenant_ids": list(tenant_ids),
                    "even_if_maybe_sent": even_if_maybe_sent,
                },
            )
            candidates = [Candidate._make(row) for row in cursor.fetchall()]
            outcome += _replay_batch(cursor, candidates, actor)
            outcome[UNKNOWN] += len(batch) - len(candidates)
    return +outcome


class Candidate(NamedTuple):
    """A delivery somebody wants replayed, and what speaks against it."""

    delivery_id: UUID
    notification_id: UUID
    tenant_id: int
    category: str
    objection: str | None


def _replay_batch(
    cursor: Cursor, candidates: Sequence[Candidate], actor: str
) -> Counter[str]:
    windows = [
        (row.delivery_id, settings.RETRY_POLICIES[row.category]["window"])
        for row in candidates
        if row.objection is None
    ]
    revived = transitions.revive(cursor, windows)
    outbox.revive(cursor, revived)
    record_events(
        cursor,
        [
            AuditRecord(
                kind=EventKind.DELIVERY_REPLAYED,
                tenant_id=row.tenant_id,
                actor=actor,
                notification_id=row.notification_id,
                delivery_id=row.delivery_id,
                reason="replayed",
            )
            for row in candidates
            if row.delivery_id in revived
        ],
    )
    left_out = Counter(
        row.objection or "not_stuck"
        for row in candidates
        if row.delivery_id not in revived
    )
    return Counter({REPLAYED: len(revived)}) + left_out
