"""Which limits a call has to keep to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tenants.categories import Priority

# Of the quota: calls may be as late as turns.LATE_SECONDS, and then fall into the same
# second as so many more. What only counts may come as early as slots are booked ahead.
_PACE = 0.985
_SECONDS_AHEAD = {Priority.HIGH: 0.2, Priority.NORMAL: 0.1, Priority.LOW: 0.1}
# What a class always gets; for HIGH what that leaves, to which it is held while another
# class gets less.
_RESERVES = {Priority.HIGH: 0.85, Priority.NORMAL: 0.1, Priority.LOW: 0.05}
_CEILINGS = {Priority.LOW: 0.6}


class Limit(NamedTuple):
    """So many permits a second under one name."""

    name: str
    per_second: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Allowance:
    """The limits of one class's calls at one account; whoever shares one, queues in
    one line.

    Permits of the pace are slots in time; the other limits only count. All names are of
    one account, which is a hash tag to a cluster of Valkey.
    """

    account: str
    priority: Priority
    pace: Limit
    reserve: Limit
    others: tuple[Limit, ...]
    # How far ahead slots may be booked, by whoever asks first.
    seconds_ahead: float

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Return all limits: pace, reserve, others."""
        return (self.pace, self.reserve, *self.others)


def allowance(
    account: str,
    *,
    per_second: float,
    priority: Priority,
    others: tuple[Limit, ...] = (),
) -> Allowance:
    """Return the limits of a class at an account with this quota."""
    paced = per_second * _PACE
    ahead = _SECONDS_AHEAD[priority]
    ceiling = _CEILINGS.get(priority)
    ceilings = (
        () if ceiling is None else (Limit(f"{priority.key}:ceiling", paced * ceiling),)
    )
    return Allowance(
        account=account,
        priority=priority,
        pace=Limit("pace", paced),
        reserve=Limit(f"{priority.key}:reserve", paced * _RESERVES[priority]),
        others=(
            *ceilings,
            *(Limit(name, _PACE * rate / (1 + ahead)) for name, rate in others),
        ),
        seconds_ahead=ahead,
    )
