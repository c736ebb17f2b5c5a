"""Put off what is not the oldest of its order key."""

from __future__ import annotations

from collections.abc import Sequence

from foundation.statements import Cursor
from notifications import order
from notifications.dispatch.judging import attempt_of, retry_policy
from notifications.dispatch.work import Work
from notifications.retry_policy import NextStep, defer
from notifications.statuses import FINISHED
from notifications.transitions import Begun

Judged = list[tuple[Work, NextStep | None]]


def lock_keys(cursor: Cursor, begun: Sequence[Begun]) -> None:
    """Lock the order keys of a claim; before the accounts, which a settling locks when
    it has its keys."""
    keys = [row.order_key for row in begun if row.order_key is not None]
    order.lock_keys(cursor, keys)


def keep_order(
    cursor: Cursor, judged: Sequence[tuple[Work, NextStep | None]]
) -> Judged:
    """Let of each key the oldest go, the others wait for its end, whatever it is.

    Whom policy ends in this very claim holds nobody up: nobody would be woken for it.
    Asking what became of a call overtakes nobody.
    """
    keyed = [one for one in judged if one[0].begun.order_key is not None]
    followers = order.find_followers(
        cursor,
        [
            work.begun.delivery_id
            for work, step in keyed
            if step is None and not work.begun.is_reconciling
        ],
        ending=[
            work.begun.delivery_id
            for work, step in keyed
            if step is not None and step.status in FINISHED
        ],
    )
    return [
        (work, _wait(work)) if work.begun.delivery_id in followers else (work, step)
        for work, step in judged
    ]


def _wait(work: Work) -> NextStep:
    begun = work.begun
    return defer(
        begun.now + order.LOOKS_AGAIN_AFTER,
        reason=order.REASON,
        attempt=attempt_of(work, now=begun.now),
        policy=retry_policy(begun.category),
    )
