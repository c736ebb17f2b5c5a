"""Hold messages back from an account that refuses us."""

from __future__ import annotations

from collections.abc import Sequence

from foundation.statements import Cursor
from notifications.dispatch.work import Work
from notifications.retry_policy import ACCOUNT_FAULT, NextStep
from providers import account_faults


def hold_back(
    cursor: Cursor, judged: Sequence[tuple[Work, NextStep | None]]
) -> list[tuple[Work, NextStep | None]]:
    """Park what would go to such an account, but for one message that probes it."""
    faulty = {
        work.provider for work, step in judged if step is None and work.account_fault
    }
    if not faulty:
        return list(judged)
    probes = account_faults.take_probes(cursor, faulty)
    held: list[tuple[Work, NextStep | None]] = []
    for work, step in judged:
        if step is not None or not work.account_fault:
            held.append((work, step))
        elif work.provider in probes:
            probes.discard(work.provider)
            held.append((work, None))
        else:
            held.append((work, ACCOUNT_FAULT))
    return held
