"""The only writer of delivery.status: one guarded, batched UPDATE per arrow.

Whoever calls a verb has won the delivery on its outbox row first (notifications.
outbox), within the same transaction; a differing row count is a broken invariant and
rolls everything back. Two statements and not one clever CTE: after waiting for a
concurrent update PostgreSQL 18's re-check of such a CTE can lose rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import orjson

from foundation.statements import Cursor
from notifications.statuses import STUCK, UNFINISHED, DeliveryStatus

_S = DeliveryStatus

# What may follow what. Drawn in docs/delivery-states.md; the statements below are
# tested against it, every status times every verb.
ARROWS: dict[str, tuple[frozenset[DeliveryStatus], frozenset[DeliveryStatus]]] = {
    "begin_sending": (UNFINISHED, frozenset({_S.SENDING})),
    "settle": (
        frozenset({_S.SENDING}),
        frozenset(
            {
                _S.PENDING,
                _S.SENT,
                _S.FAILED,
                _S.DEAD,
                _S.PARKED,
                _S.SUPPRESSED,
                _S.EXPIRED,
            }
        ),
    ),
    "cancel": (STUCK | {_S.PENDING}, frozenset({_S.CANCELLED})),
    "revive": (STUCK, frozenset({_S.PENDING})),
}


class BrokenInvariant(Exception):
    """An outbox row was won whose delivery is not where it must be."""

    def __init__(self, delivery_ids: Collection[UUID]) -> None:
        super().__init__(", ".join(sorted(map(str, delivery_ids))))
        self.delivery_ids = frozenset(delivery_ids)


class Fence(NamedTuple):
    """A delivery and the claim_count that its writer holds."""

    delivery_id: UUID
    claim_count: int


class Begun(NamedTuple):
    """A delivery as its claim found it; `was` tells a take-over from a first claim."""

    delivery_id: UUID
    claim_count: int
    notification_id: UUID
    tenant_id: int
    channel: int
    category: str
    attempt_count: int
    maybe_sent: bool
    address_id: UUID | None
    address_sealed: bytes | None
    address_key: bytes
    expires_at: datetime | None
    retry_until: datetime
    provider: str
    order_key: int | None
    called_at: datetime | None
    unknown_count: int
    reconcile_until: datetime | None
    was: str
    was_maybe_sent: bool
    was_reason: str
    now: datetime

    @property
    def is_taken_over(self) -> bool:
        """Tell whether another worker held it and let its lease run out."""
        return self.was == _S.SENDING

    @property
    def is_reconciling(self) -> bool:
        """Tell whether its provider is to be asked, and nothing to be sent."""
        return self.reconcile_until is not None

    @property
    def lost_attempt(self) -> bool:
        """Tell whether the worker that vanished may have sent it."""
        return self.is_taken_over and not self.is_reconciling


# A take-over from an expired `sending` counts the lost attempt, and its outcome is
# unknown for ever; it was called after the claim before this one. A look-up that was
# lost is no attempt. The retry window opens with the first claim: were it counted from
# the due date, an outage of ours would use it up, and the first refusal for want of
# quota would be the end of what nobody had ever tried to send.
_BEGIN_SENDING = """
UPDATE delivery d
   SET status = 'sending', claim_count = r.n, updated_at = app_now(),
       maybe_sent = d.maybe_sent OR d.status = 'sending',
       attempt_count = d.attempt_count
                       + (d.status = 'sending' AND d.reconcile_until IS NULL)::int,
       called_at = CASE WHEN d.status = 'sending'
                        THEN coalesce(d.called_at, d.updated_at)
                        ELSE d.called_at END,
       retry_until = CASE WHEN d.claim_count = 0
                          THEN app_now() + (%s::jsonb ->> d.category)::interval
                          ELSE d.retry_until END
  FROM unnest(%s::uuid[], %s::int[]) r(id, n)
 WHERE d.id = r.id AND d.claim_count = r.n - 1
   AND d.status IN ('pending', 'sending', 'parked')
RETURNING d.id, d.claim_count, d.notification_id, d.tenant_id, d.channel, d.category,
          d.attempt_count, d.maybe_sent, d.address_id, d.address_sealed, d.address_key,
          d.expires_at, d.retry_until, d.provider, d.order_key, d.called_at,
          d.unknown_count, d.reconcile_until, OLD.status, OLD.maybe_sent, OLD.reason,
          app_now()
"""


def begin_sending(
    cursor: Cursor,
    fences: Sequence[Fence],
    *,
    retry_windows: Mapping[str, timedelta],
) -> list[Begun]:
    """Follow won claims: pending to sending, or take over an expired sending.

    A parked delivery comes back here when it is due, that is, at its expiry.
    `retry_windows` has one for each category.
    """
    windows = {key: f"{span.total_seconds()} s" for key, span in retry_windows.items()}
    cursor.execute(
        _BEGIN_SENDING,
        [
            orjson.dumps(windows).decode(),
            [fence.delivery_id for fence in fences],
            [fence.claim_count for fence in fences],
        ],
    )
    begun = [Begun._make(row) for row in cursor.fetchall()]
    _require(
        {fence.delivery_id for fence in fences}, {row.delivery_id for row in begun}
    )
    _unlist_stuck(cursor, [row.delivery_id for row in begun if row.was == _S.PARKED])
    return begun


_NOTHING_WAS_SENT = """
UPDATE delivery SET maybe_sent = false
 WHERE id = ANY (%s::uuid[]) AND status = 'sending'
"""


def clear_maybe_sent(cursor: Cursor, delivery_ids: Sequence[UUID]) -> None:
    """Take back the doubt about lost attempts that could only have written to our own
    tables: nothing of theirs is there. The rows are those of the claim under way."""
    if delivery_ids:
        cursor.execute(_NOTHING_WAS_SENT, [list(delivery_ids)])


_NOTE_PROVIDER = """
UPDATE delivery d SET provider = r.provider
  FROM unnest(%s::uuid[], %s::text[]) r(id, provider)
 WHERE d.id = r.id AND d.status = 'sending'
"""


def note_provider(cursor: Cursor, chosen: Sequence[tuple[UUID, str]]) -> None:
    """Write down who is about to be called, for whoever might take the claim over: a
    call that may have succeeded is repeated to the same provider or not at all."""
    if chosen:
        ids, providers = zip(*chosen, strict=True)
        cursor.execute(_NOTE_PROVIDER, [list(ids), list(providers)])


_NOTE_REASON = """
UPDATE delivery SET reason = %s, updated_at = app_now()
 WHERE id = ANY (%s::uuid[]) AND status = 'pending'
"""


def note_reason(cursor: Cursor, delivery_ids: Sequence[UUID], reason: str) -> None:
    """Say why these wait from now on; the caller holds their outbox rows."""
    if delivery_ids:
        cursor.execute(_NOTE_REASON, [reason, list(delivery_ids)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """The way of one delivery out of `sending`."""

    fence: Fence
    next_claim_count: int
    status: DeliveryStatus
    counted: bool
    unresolved: bool
    provider: str = ""
    provider_message_id: str = ""
    reason: str = ""
    code: str = ""
    retry_window: timedelta | None = None
    called_at: datetime | None = None
    # Whether the outcome is unknown and no idempotency key makes that harmless.
    uncovered: bool = False
    reconcile_until: datetime | None = None


_SETTLE = """
UPDATE delivery d
   SET status = r.status, claim_count = r.next_count,
       attempt_count = d.attempt_count + r.counted::int,
       maybe_sent = d.maybe_sent OR r.unresolved,
       called_at = coalesce(d.called_at, r.called_at),
       unknown_count = d.unknown_count + r.uncovered::int,
       reconcile_until = r.reconcile_until,
       retry_until = coalesce(app_now() + r.retry_window, d.retry_until),
       provider = coalesce(nullif(r.provider, ''), d.provider),
       provider_message_id = coalesce(nullif(r.message_id, ''), d.provider_message_id),
       reason = r.reason, updated_at = app_now(),
       code = CASE WHEN r.status = 'sent' THEN ''
                   ELSE coalesce(nullif(r.code, ''), d.code) END,
       finished_at = CASE WHEN r.status NOT IN ('pending', 'parked')
                          THEN app_now() END
  FROM unnest(%s::uuid[], %s::int[], %s::int[], %s::text[], %s::bool[], %s::bool[],
              %s::text[], %s::text[], %s::text[], %s::text[], %s::interval[],
              %s::timestamptz[], %s::bool[], %s::timestamptz[])
       r(id, own_count, next_count, status, counted, unresolved, provider,
         message_id, reason, code, retry_window, called_at, uncovered,
         reconcile_until)
 WHERE d.id = r.id AND d.status = 'sending' AND d.claim_count = r.own_count
RETURNING d.id
"""


def settle(cursor: Cursor, arrows: Sequence[Arrow]) -> None:
    """Write where attempts led to, and list the dead and the parked."""
    if not arrows:
        return
    cursor.execute(
        _SETTLE,
        [
            [arrow.fence.delivery_id for arrow in arrows],
            [arrow.fence.claim_count for arrow in arrows],
            [arrow.next_claim_count for arrow in arrows],
            [arrow.status.value for arrow in arrows],
            [arrow.counted for arrow in arrows],
            [arrow.unresolved for arrow in arrows],
            [arrow.provider for arrow in arrows],
            [arrow.provider_message_id for arrow in arrows],
            [arrow.reason for arrow in arrows],
            [arrow.code for arrow in arrows],
            [arrow.retry_window for arrow in arrows],
            [arrow.called_at for arrow in arrows],
            [arrow.uncovered for arrow in arrows],
            [arrow.reconcile_until for arrow in arrows],
        ],
    )
    _require(
        {arrow.fence.delivery_id for arrow in arrows},
        {row[0] for row in cursor.fetchall()},
    )
    _list_stuck(
        cursor, [arrow.fence.delivery_id for arrow in arrows if arrow.status in STUCK]
    )


_LIST_STUCK = """
INSERT INTO dead_letter (delivery_id, notification_id, tenant_id, channel, provider,
                         status, reason, code, attempt_count)
SELECT d.id, d.notification_id, d.tenant_id, d.channel, d.provider, d.status, d.reason,
       d.code, d.attempt_count
  FROM delivery d JOIN unnest(%s::uuid[]) r(id) ON d.id = r.id
"""


def _list_stuck(cursor: Cursor, delivery_ids: Sequence[UUID]) -> None:
    if delivery_ids:
        cursor.execute(_LIST_STUCK, [delivery_ids])


_UNLIST_STUCK = "DELETE FROM dead_letter WHERE delivery_id = ANY (%s::uuid[])"


def _unlist_stuck(cursor: Cursor, delivery_ids: Sequence[UUID]) -> None:
    if delivery_ids:
        cursor.execute(_UNLIST_STUCK, [delivery_ids])


# By the status that the caller saw: a dead one that a replay has just taken back to
# pending has an outbox row again, which the caller did not lock.
_CANCEL = """
UPDATE delivery d
   SET status = 'cancelled', reason = 'cancelled', updated_at = app_now(),
       finished_at = app_now()
  FROM unnest(%s::uuid[], %s::text[]) r(id, status)
 WHERE d.id = r.id AND d.status = r.status
   AND d.status IN ('pending', 'parked', 'dead')
RETURNING d.id, r.status
"""


def cancel(
    cursor: Cursor, seen: Collection[tuple[UUID, DeliveryStatus]]
) -> dict[UUID, DeliveryStatus]:
    """Stop what is still as it was seen, pending or waiting for a person; return that.

    The outbox rows of those that have one must be locked.
    """
    ids, statuses = [one[0] for one in seen], [one[1].value for one in seen]
    cursor.execute(_CANCEL, [ids, statuses])
    stopped = {row[0]: DeliveryStatus(row[1]) for row in cursor.fetchall()}
    _unlist_stuck(cursor, [one for one, was in stopped.items() if was in STUCK])
    return stopped


# A person who replays what may have been sent has decided about its unknown outcome.
_REVIVE = """
UPDATE delivery d
   SET status = 'pending', claim_count = d.claim_count + 1, attempt_count = 0,
       unknown_count = greatest(d.unknown_count,
                                (d.maybe_sent AND r.is_confirmed)::int),
       reason = r.reason, code = '', updated_at = app_now(), finished_at = NULL,
       retry_until = app_now() + r.retry_window
  FROM unnest(%s::uuid[], %s::interval[], %s::text[], %s::bool[])
       r(id, retry_window, reason, is_confirmed)
 WHERE d.id = r.id AND d.status IN ('dead', 'parked')
RETURNING d.id, d.claim_count
"""


class Revival(NamedTuple):
    """A delivery to be tried again, for how long, and why."""

    delivery_id: UUID
    retry_window: timedelta
    reason: str = "replayed"
    is_confirmed: bool = True


def revive(cursor: Cursor, revivals: Sequence[Revival]) -> dict[UUID, int]:
    """Take dead and parked deliveries back to pending with fresh attempts and window.

    Returns their raised claim_counts: a stale record of before must not claim them.
    """
    cursor.execute(
        _REVIVE,
        [
            [each.delivery_id for each in revivals],
            [each.retry_window for each in revivals],
            [each.reason for each in revivals],
            [each.is_confirmed for each in revivals],
        ],
    )
    revived: dict[UUID, int] = dict(cursor.fetchall())
    _unlist_stuck(cursor, list(revived))
    return revived


def _require(wanted: set[UUID], got: set[UUID]) -> None:
    if wanted != got:
        raise BrokenInvariant(wanted ^ got)
