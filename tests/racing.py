"""Races by the thousand: racers in threads, consumers beside them, and who won."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

import pytest
from django.conf import settings

from foundation.statements import Cursor, server_cursor
from notifications import outbox
from notifications.outbox import Lane, Poll
from notifications.published import claim_published
from notifications.transitions import Fence
from notifications.transport.base import Room, Subscription
from providers.channels import Channel
from tenants.categories import Priority
from tests.acme import run_together
from tests.kafka import consuming

Result = TypeVar("Result")

THREADS = 8
ROUND = 200
# What a racer starts before it turns to race against it: the first has waited for
# longer by then than the last, so that each side wins some.
HANDFUL = 4
# Claims of a few at a time meet more of the racers than one claim of everything.
WINDOW = 20
CONSUMERS = 2

many_races = pytest.mark.parametrize(
    "races",
    [400, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])],
)


def rounds(races: int) -> Iterator[range]:
    """Number the races, a round at a time."""
    for first in range(0, races, ROUND):
        yield range(first, min(first + ROUND, races))


def race(
    numbers: range, run: Callable[[Sequence[int]], Sequence[Result]]
) -> list[Result]:
    """Run the races of a round, by handfuls, in threads that start at one moment."""
    handfuls = [
        numbers[first : first + HANDFUL] for first in range(0, len(numbers), HANDFUL)
    ]

    def run_some(first: int) -> list[Result]:
        return [each for handful in handfuls[first::THREADS] for each in run(handful)]

    return together([partial(run_some, first) for first in range(THREADS)])


def together(works: Sequence[Callable[[], Sequence[Result]]]) -> list[Result]:
    """Run works in threads that start at one moment; return all that they returned."""
    every = run_together(*works)
    for results in every:
        if isinstance(results, Exception):
            raise results
    return [each for results in every for each in results]


@contextmanager
def consumers() -> Iterator[None]:
    """Run consumers in threads meanwhile, over the transport that the settings name."""
    with ExitStack() as stack:
        for _ in range(CONSUMERS):
            stack.enter_context(consuming(window=WINDOW))
        yield


def tell(line: str) -> None:
    """Print a measurement, for whoever runs the long tests."""
    sys.stdout.write(f"\n{line}\n")


_LANE = Lane(Priority.NORMAL, Channel.EMAIL)


class RelayedTransport:
    """Takes NORMAL e-mail as the relay does and claims it by record, with no broker.

    A claim by record waits for whoever holds its row, where a poll skips it.
    """

    is_resting = False

    def __init__(self, subscription: Subscription) -> None:
        self._lease = subscription.lease
        self._records: deque[Fence] = deque()

    def fetch(self, *, limit: int) -> bool:
        if not self._records:
            poll = Poll(
                lane=_LANE,
                floor=datetime(2000, 1, 1, tzinfo=UTC),
                limit=limit,
                lease=settings.PUBLISH_LEASE,
            )
            with server_cursor() as cursor:
                taken, _ = outbox.take(cursor, poll)
            self._records.extend(row.fence for row in taken)
        return bool(self._records)

    def claim(self, cursor: Cursor, *, room: Room) -> list[Fence]:
        most = min(room.total, room.by_lane[_LANE], len(self._records))
        records = [self._records.popleft() for _ in range(most)]
        return claim_published(cursor, records, lease=self._lease)

    def skip(self, delivery_ids: Collection[UUID]) -> None:
        pass

    def close(self) -> None:
        pass
