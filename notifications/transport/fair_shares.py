"""Fair shares between the tenants of a class, where more is due than can be taken.

A poll takes what is oldest, whoever's it is. One that comes back full has left a
backlog: from then on every tenant with due rows gets the same share, its own oldest
first, until a poll comes back with room to spare.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import transaction

from foundation.statements import Cursor
from notifications.due_tenants import due_tenants
from notifications.outbox import Lane, Poll, Taken

# How many tenants one look goes through, some 7 µs each, and how many one poll serves;
# the next one goes on behind them.
LOOKED_AT = 500
SERVED = 100
# Looking takes a twentieth of the time at most: with few tenants it is part of every
# poll, with thousands it is not.
REST = 20

Polled = tuple[list[Taken], datetime | None]
Ask = Callable[[Cursor, Poll], Polled]


class FairShares:
    """One poller's backlogs, by class."""

    def __init__(self) -> None:
        self._backlogs: dict[Lane, _Backlog] = {}

    def poll(self, cursor: Cursor, poll: Poll, ask: Ask) -> Polled:
        """Take due rows by `ask`, which takes whoever's are the oldest, or shares."""
        taken: list[Taken] = []
        now = None
        backlog = self._backlogs.setdefault(poll.lane, _Backlog())
        if backlog.is_there:
            with _nothing_sorted(cursor):
                backlog.look(cursor, poll)
                taken, now = backlog.serve(cursor, poll, ask)
        if len(taken) < poll.limit:
            # Whoever was not seen yet; and only this tells that nothing is left.
            rest = replace(poll, limit=poll.limit - len(taken))
            rows, at = ask(cursor, rest)
            taken, now = taken + rows, now or at
        backlog.is_there = len(taken) == poll.limit
        return taken, now


@dataclass(slots=True)
class _Backlog:
    """The tenants that are known to have due rows, in the order of their turns."""

    is_there: bool = False
    _tenants: deque[int] = field(default_factory=deque)
    _looked_up_to: int | None = None
    _look_from: float = float("-inf")

    def look(self, cursor: Cursor, poll: Poll) -> None:
        """Go on through the tenants of the class, round and round."""
        started = time.monotonic()
        if started < self._look_from:
            return
        found = due_tenants(cursor, poll, after=self._looked_up_to, steps=LOOKED_AT)
        ended = time.monotonic()
        self._look_from = ended + REST * (ended - started)
        self._looked_up_to = found.last
        known = set(self._tenants)
        self._tenants.extend(each for each in found.due if each not in known)

    def serve(self, cursor: Cursor, poll: Poll, ask: Ask) -> Polled:
        """Take the same number from each whose turn it is.

        What one has no rows for goes to those that gave all they were asked for.
        """
        number = min(len(self._tenants), SERVED, poll.limit)
        served = [self._tenants.popleft() for _ in range(number)]
        taken: list[Taken] = []
        now = None
        asked, shares = served, dict.fromkeys(served, 0)
        while asked and len(taken) < poll.limit:
            shares = _share_out(poll.limit - len(taken), asked)
            rows, at = ask(cursor, replace(poll, shares=shares))
            taken, now = taken + rows, now or at
            gave = Counter(row.tenant_id for row in rows)
            asked = [tenant for tenant in asked if gave[tenant] == shares[tenant]]
        have_rows = {row.tenant_id for row in taken}
        # Who had one more than others is behind them when shares are uneven again.
        self._tenants.extend(
            sorted(
                (tenant for tenant in served if tenant in have_rows),
                key=lambda tenant: shares.get(tenant, 0),
            )
        )
        return taken, now


def _share_out(room: int, tenants: Sequence[int]) -> dict[int, int]:
    each, more = divmod(room, len(tenants))
    return {tenant: each + (place < more) for place, tenant in enumerate(tenants)}


@contextmanager
def _nothing_sorted(cursor: Cursor) -> Iterator[None]:
    """Have rows found in the order of an index, whatever the planner believes.

    A vacuum that saw the table empty makes it expect one row, and rather sort that one
    than walk an index: all that is due, once for every tenant.
    """
    with transaction.atomic(savepoint=False):
        cursor.execute("SET LOCAL enable_sort = off")
        yield
        cursor.execute("SET LOCAL enable_sort = DEFAULT")
