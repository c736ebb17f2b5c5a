"""Rows that come, are published, claimed and settled at a steady rate; and empty polls.

The product's own statements, in batches, without broker and provider. Runs inside
Django: `manage.py shell -c "from benchmarks.churn import …"`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from django.conf import settings
from django.db import connection, transaction

from benchmarks.baselines import relay_without_floors
from benchmarks.due_rows import OUTBOX
from benchmarks.figures import percentile
from benchmarks.whole_life import settle
from foundation.statements import Cursor, server_cursor
from notifications import outbox, transitions
from notifications.dispatch.judging import retry_windows
from notifications.outbox import LANES, Poll
from notifications.published import claim_published, record_published
from notifications.relay.publishing import BATCH
from notifications.transport.due_floors import DueFloors
from tenants.categories import Priority

_ROUND_SECONDS = 1.0


def churn(*, seconds: float, per_second: int, template: str) -> None:
    """Keep to the rate, or be late; print how many lives it was, as JSON."""
    rows = per_second - per_second % len(LANES)
    floors = DueFloors(LANES)
    started, lives, most_late = time.monotonic(), 0, 0.0
    while (due := started + lives / rows * _ROUND_SECONDS) < started + seconds:
        most_late = max(most_late, time.monotonic() - due)
        time.sleep(max(due - time.monotonic(), 0))
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(OUTBOX.add, {"rows": rows, "template": template})
        lives += rows
        while _live(floors):
            pass
    took = time.monotonic() - started
    print(json.dumps({"lives": lives, "seconds": took, "most_late": most_late}))


def _live(floors: DueFloors) -> int:
    """Bring a batch of every lane to its end; return how many rows it was."""
    number = 0
    with server_cursor() as cursor:
        for lane in sorted(floors.look(cursor)):
            poll = Poll(
                lane=lane,
                floor=floors.floor(lane),
                limit=BATCH,
                lease=settings.PUBLISH_LEASE,
            )
            taken, _ = outbox.take(cursor, poll)
            horizon = settings.PUBLISHED_HORIZONS[lane.priority]
            record_published(cursor, taken, horizon=horizon)
            _deliver([row.fence for row in taken])
            number += len(taken)
    return number


def _deliver(fences: list[transitions.Fence]) -> None:
    with transaction.atomic(), server_cursor() as cursor:
        claimed = claim_published(cursor, fences, lease=settings.CLAIM_LEASE)
        begun = transitions.begin_sending(
            cursor, claimed, retry_windows=retry_windows()
        )
    with transaction.atomic(), server_cursor() as cursor:
        settle(cursor, begun)


def print_empty_polls(*, number: int) -> None:
    """Print in ms what it takes one relay to find nothing due in its lanes, as JSON.

    As a relay asks, and as it would if there were no floors.
    """
    of_relays = [[lane for lane in LANES if lane.priority is p] for p in Priority]
    with server_cursor() as cursor:
        floors = [DueFloors(lanes) for lanes in of_relays]
        # The first has no floors yet, as once a minute: the other figure tells of it.
        _time(cursor, floors, number=1)
        waits = _time(cursor, floors, number=number)
        trail = relay_without_floors.TRAIL
        none = [DueFloors(lanes, trail=trail) for lanes in of_relays]
        waits_without = _time(cursor, none, number=max(number // 20, 5))
    print(json.dumps({"with_floors": waits, "without_floors": waits_without}))


def _time(
    cursor: Cursor, relays: Sequence[DueFloors], *, number: int
) -> dict[str, float]:
    """Let the relays of all classes look so often; return a look's percentiles."""
    waits = []
    for _ in range(number):
        for relay in relays:
            started = time.perf_counter()
            due = relay.look(cursor)
            waits.append((time.perf_counter() - started) * 1000)
            if due:
                raise RuntimeError(f"{due} are due")
    return {"p50_ms": percentile(waits, 0.5), "p99_ms": percentile(waits, 0.99)}
