"""Give deliveries that wait for a person another try: same id, same rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.statements import Cursor, server_cursor
from notifications import outbox, transitions
from notifications.retry_policy import RESUMED_AFTER_REFUSAL
from notifications.transitions import Revival
from providers.account_faults import forget_mended, mended_accounts

# In batches: a replay of fifty thousand must not hold its locks for minutes.
BATCH = 500

_CANDIDATES = """
SELECT d.id, d.notification_id, d.tenant_id, d.category,
       d.reason = 'account_fault' AND d.code <> '',
       CASE WHEN d.status NOT IN ('dead', 'parked') THEN 'not_stuck'
            WHEN d.reason <> coalesce(%(only_reason)s, d.reason) THEN 'not_stuck'
            WHEN d.expires_at <= app_now() THEN 'expired'
            WHEN d.maybe_sent AND NOT %(even_if_maybe_sent)s THEN 'maybe_sent'
       END
  FROM unnest(%(ids)s::uuid[]) r(id) JOIN delivery d ON d.id = r.id
 WHERE %(tenant_ids)s::bigint[] IS NULL OR d.tenant_id = ANY (%(tenant_ids)s)
"""

REPLAYED = "replayed"
UNKNOWN = "unknown"


def replay(
    delivery_ids: Collection[UUID],
    *,
    tenant_ids: Collection[int] | None,
    actor: str,
    even_if_maybe_sent: bool = False,
    only_reason: str | None = None,
) -> Counter[str]:
    """Take dead and parked deliveries back to pending, due now.

    Only those of the given tenants (None: of all) and, if one is given, stuck for that
    reason; opt-outs, expiry and addresses are looked at again in the claim like
    everybody's. What may have been sent is left out unless asked for, since nobody may
    get a message twice by accident. Returns how many ended how:
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
                    "tenant_ids": None if tenant_ids is None else list(tenant_ids),
                    "even_if_maybe_sent": even_if_maybe_sent,
                    "only_reason": only_reason,
                },
            )
            candidates = [Candidate._make(row) for row in cursor.fetchall()]
            # One reason and no other is the platform's: nobody has looked at them.
            outcome += _replay_batch(
                cursor, candidates, actor, is_confirmed=only_reason is None
            )
            outcome[UNKNOWN] += len(batch) - len(candidates)
    return +outcome


class Candidate(NamedTuple):
    """A delivery somebody wants replayed, and what speaks against it."""

    delivery_id: UUID
    notification_id: UUID
    tenant_id: int
    category: str
    # Whether its account refused this very message.
    is_refused: bool
    objection: str | None


def _replay_batch(
    cursor: Cursor,
    candidates: Sequence[Candidate],
    actor: str,
    *,
    is_confirmed: bool,
) -> Counter[str]:
    revivals = [
        Revival(
            row.delivery_id,
            settings.RETRY_POLICIES[row.category]["window"],
            RESUMED_AFTER_REFUSAL if row.is_refused else REPLAYED,
            is_confirmed,
        )
        for row in candidates
        if row.objection is None
    ]
    revived = transitions.revive(cursor, revivals)
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
                reason=REPLAYED,
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


# A claim that began before the account was mended may park a little after that; who is
# parked later was refused anew.
_STRAGGLING = timedelta(minutes=1)
_REMEMBERED = timedelta(minutes=5)
_PARKED = """
SELECT delivery_id FROM dead_letter
 WHERE reason = 'account_fault' AND status = 'parked'
   AND provider = %s AND delivery_id > %s AND created_at < %s
 ORDER BY delivery_id LIMIT %s
"""


def resume_mended_accounts() -> int:
    """Send on what was parked for accounts that are well again; return how many."""
    with server_cursor() as cursor:
        mended = mended_accounts(cursor)
    resumed = 0
    for provider, since in mended.items():
        resumed += _resume(provider, since)
        # Behind the last of them, or who comes late would wait for ever.
        with server_cursor() as cursor:
            forget_mended(cursor, provider, after=_REMEMBERED)
    return resumed


def _resume(provider: str, mended_at: datetime) -> int:
    resumed, last = 0, UUID(int=0)
    while True:
        with server_cursor() as cursor:
            before = mended_at + _STRAGGLING
            cursor.execute(_PARKED, [provider, last, before, BATCH])
            ids = [row[0] for row in cursor.fetchall()]
            is_mended = provider in mended_accounts(cursor)
        if not ids or not is_mended:
            return resumed
        last = ids[-1]
        # What may have been sent was about to be repeated when the account failed.
        outcome = replay(
            ids,
            tenant_ids=None,
            actor="platform",
            even_if_maybe_sent=True,
            only_reason="account_fault",
        )
        resumed += outcome[REPLAYED]
