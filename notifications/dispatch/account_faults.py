"""Hold messages back from an account that refuses us, all but a probe."""

from __future__ import annotations

from collections.abc import Sequence

from foundation.statements import Cursor
from notifications.dispatch.work import Work
from notifications.retry_policy import ACCOUNT_FAULT, NextStep
from providers.account_faults import probe_now

Judged = list[tuple[Work, NextStep | None]]


def hold_back(cursor: Cursor, judged: Sequence[tuple[Work, NextStep | None]]) -> Judged:
    """Park what would go to such an account; a probe that policy stops is the next
    message's."""
    unused = {work.provider for work, step in judged if work.is_probe and step}
    if unused:
        probe_now(cursor, unused)
    return [
        (work, ACCOUNT_FAULT)
        if step is None and work.is_account_faulty and not work.is_probe
        else (work, step)
        for work, step in judged
    ]
