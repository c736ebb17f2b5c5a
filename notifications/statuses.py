"""The states of a delivery, and the state of a notification derived from them.

docs/delivery-states.md draws both; a test ties the drawing to this module.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class DeliveryStatus(StrEnum):
    """Where one delivery stands."""

    PENDING = "pending"
    SENDING = "sending"
    PARKED = "parked"
    SENT = "sent"
    DELIVERED = "delivered"
    UNDELIVERED = "undelivered"
    FAILED = "failed"
    DEAD = "dead"
    SUPPRESSED = "suppressed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


_S = DeliveryStatus

# Unfinished means: exactly one outbox row. Everything else has none.
UNFINISHED = frozenset({_S.PENDING, _S.SENDING, _S.PARKED})
FINISHED = frozenset(DeliveryStatus) - UNFINISHED
# What waits for a person.
STUCK = frozenset({_S.DEAD, _S.PARKED})


class NotificationState(StrEnum):
    """What the caller is told about a notification as a whole."""

    SCHEDULED = "scheduled"
    ACCEPTED = "accepted"
    IN_PROGRESS = "in_progress"
    PARTLY_FAILED = "partly_failed"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRule:
    """A notification is in `state` when, of its deliveries' statuses, none is
    outside `only` (where given) and each group of `some` has a member among them."""

    state: NotificationState
    only: frozenset[DeliveryStatus] | None = None
    some: tuple[frozenset[DeliveryStatus], ...] = ()
    untouched: bool = False
    in_future: bool = False


_GOOD = frozenset({_S.SENT, _S.DELIVERED})
_BAD = frozenset({_S.FAILED, _S.DEAD, _S.UNDELIVERED})
_WAITING = frozenset({_S.PENDING, _S.SUPPRESSED})
_PENDING = frozenset({_S.PENDING})

# The first rule that holds decides. A channel suppressed at acceptance does not
# start the notification; a delivery is untouched until its first claim.
STATE_RULES = (
    StateRule(
        state=NotificationState.SCHEDULED,
        only=_WAITING,
        some=(_PENDING,),
        untouched=True,
        in_future=True,
    ),
    StateRule(
        state=NotificationState.ACCEPTED,
        only=_WAITING,
        some=(_PENDING,),
        untouched=True,
    ),
    StateRule(state=NotificationState.IN_PROGRESS, some=(UNFINISHED,)),
    StateRule(state=NotificationState.PARTLY_FAILED, some=(_GOOD, _BAD)),
    StateRule(state=NotificationState.COMPLETED, some=(_GOOD,)),
    StateRule(state=NotificationState.FAILED, some=(_BAD,)),
    StateRule(state=NotificationState.EXPIRED, some=(frozenset({_S.EXPIRED}),)),
    StateRule(state=NotificationState.CANCELLED, some=(frozenset({_S.CANCELLED}),)),
    StateRule(state=NotificationState.SUPPRESSED),
)


def notification_state(
    statuses: Collection[DeliveryStatus], *, untouched: bool, in_future: bool
) -> NotificationState:
    """Derive the state of a notification from its deliveries.

    `untouched`: no delivery was ever claimed. `in_future`: send_at is still ahead.
    """
    present = frozenset(statuses)
    for rule in STATE_RULES:
        if (
            (rule.only is None or present <= rule.only)
            and all(present & group for group in rule.some)
            and (untouched or not rule.untouched)
            and (in_future or not rule.in_future)
        ):
            return rule.state
    raise AssertionError("the last rule holds for everything")


def state_sql(*, statuses: str, untouched: str, in_future: str) -> str:
    """Write the same rules as a CASE over SQL expressions, for filters.

    `statuses` is an array of text; the arguments are expressions, never values.
    """
    arms = []
    for rule in STATE_RULES:
        conditions = [f"{statuses} && {_array(group)}" for group in rule.some]
        if rule.only is not None:
            conditions.append(f"{statuses} <@ {_array(rule.only)}")
        if rule.untouched:
            conditions.append(untouched)
        if rule.in_future:
            conditions.append(in_future)
        arms.append(f"WHEN {' AND '.join(conditions) or 'true'} THEN '{rule.state}'")
    return f"CASE {' '.join(arms)} END"


def _array(group: frozenset[DeliveryStatus]) -> str:
    members = ", ".join(f"'{status}'" for status in sorted(group))
    return f"ARRAY[{members}]::text[]"
