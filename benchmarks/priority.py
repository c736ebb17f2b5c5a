"""Goal `priority`: how long HIGH takes while a million LOW are being sent.

One consumer is for HIGH, one for the other classes. Urgent messages are accepted by
the clock, without a backlog and then beside one of a million due LOW with three million
more that wait for later; LOW is measured alone, beside them, and alone again, since a
machine that others share is not as fast in one minute as in the next.
"""

from __future__ import annotations

import secrets
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from benchmarks.due_rows import begin
from benchmarks.environment import describe
from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import percentile
from benchmarks.ground import Ground, prepared_ground
from benchmarks.provider import Call, Provider, start_provider
from benchmarks.reporting import report
from devstack.platform import MANAGE
from devstack.processes import Crew, crew
from devstack.processes import run as run_command

MUST_P50_MS, AIM_P50_MS = 100.0, 40.0
MUST_P99_MS, AIM_P99_MS = 300.0, 120.0
MUST_P99_RATIO, AIM_P99_RATIO = 3.0, 1.5
MUST_LOW_KEPT, AIM_LOW_KEPT = 0.85, 0.95
MUST_LOW_PER_SECOND = 1_500.0
_WARM_UP_SECONDS = 10.0
_CONSUMER = (*MANAGE, "consume_deliveries", "--channel", "sms")
_CONSUMERS = {
    "high": (*_CONSUMER, "--priority", "high"),
    "others": (*_CONSUMER, "--priority", "normal", "--priority", "low"),
}


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--seconds", type=float, default=60.0, help="of each part")
    parser.add_argument("--high-per-second", type=float, default=50.0)
    parser.add_argument("--due", type=int, default=1_000_000, help="LOW messages")
    parser.add_argument("--later", type=int, default=3_000_000, help="LOW messages")


def run(options: Namespace) -> dict[str, Any]:
    """Measure; return the fields of the last line."""
    with prepared_ground(history=0) as ground:
        report(environment=describe(ground.database), options=vars(options))
        provider = start_provider(ground.crew)
        # More than can be sent here: this is not about quotas.
        ground.environment["HTTP_PROVIDER_URL"] = provider.url
        ground.environment["HTTP_PROVIDER_RATE"] = "100000"
        with _consuming(ground):
            alone = _measure_high(ground, provider, options)
        report(part="without a backlog", **alone.figures())
        _add_backlog(ground, options)
        with _consuming(ground) as hired:
            hired.wait_until(
                lambda: bool(provider.take_calls()), seconds=60, what="LOW is sent"
            )
            time.sleep(_WARM_UP_SECONDS)
            before = _measure_low(provider, seconds=options.seconds / 2)
            beside = _measure_high(ground, provider, options)
            after = _measure_low(provider, seconds=options.seconds / 2)
            report(part="low alone", before=before, after=after)
            if not _is_due(ground):
                raise BenchmarkFailed("LOW ran dry: let more be --due")
        report(part="beside a backlog", **beside.figures())
    return verdict(alone=alone, beside=beside, low_alone=(before + after) / 2)


class Measured(NamedTuple):
    """How long HIGH took, in ms, and how much of LOW was sent meanwhile."""

    p50_ms: float
    p99_ms: float
    low_per_second: float

    def figures(self) -> dict[str, float]:
        """Return what is printed of it."""
        return self._asdict()


def verdict(*, alone: Measured, beside: Measured, low_alone: float) -> dict[str, Any]:
    """Hold the figures against what they must be."""
    ratio, kept = beside.p99_ms / alone.p99_ms, beside.low_per_second / low_alone
    return {
        "value": beside.p99_ms,
        "must": MUST_P99_MS,
        "aim": AIM_P99_MS,
        "p50_ms": beside.p50_ms,
        "p50_ms_must": MUST_P50_MS,
        "p99_without_ms": alone.p99_ms,
        "ratio": ratio,
        "ratio_must": MUST_P99_RATIO,
        "low_per_second": beside.low_per_second,
        "low_per_second_must": MUST_LOW_PER_SECOND,
        "low_kept": kept,
        "low_kept_must": MUST_LOW_KEPT,
        "ok": beside.p99_ms <= MUST_P99_MS
        and beside.p50_ms <= MUST_P50_MS
        and ratio <= MUST_P99_RATIO
        and kept >= MUST_LOW_KEPT
        and beside.low_per_second >= MUST_LOW_PER_SECOND,
    }


@contextmanager
def _consuming(ground: Ground) -> Iterator[Crew]:
    """Run a consumer for HIGH and one for the others."""
    with crew(folder=ground.crew.folder, environment=ground.environment) as hired:
        for name, command in _CONSUMERS.items():
            hired.start(name, command)
        yield hired


def _measure_low(provider: Provider, *, seconds: float) -> float:
    provider.take_calls()
    time.sleep(seconds)
    return len(provider.take_calls()) / seconds


def _measure_high(ground: Ground, provider: Provider, options: Namespace) -> Measured:
    """Accept urgent ones by the clock, and see when their calls come."""
    floor = begin()
    provider.take_calls()
    begun = time.monotonic()
    run_command(_accepting(ground, options), ground.environment)
    # A straggler would be the slowest of all.
    time.sleep(2)
    seconds = time.monotonic() - begun
    calls = provider.take_calls()
    ids = _high_since(ground, floor)
    waits = waits_of(ids, calls, per_second=options.high_per_second)
    kept = waits[int(_WARM_UP_SECONDS * options.high_per_second) :]
    return Measured(
        p50_ms=percentile(kept, 0.5) * 1000,
        p99_ms=percentile(kept, 0.99) * 1000,
        low_per_second=(len(calls) - len(ids)) / seconds,
    )


def waits_of(
    ids: Sequence[UUID], calls: Sequence[Call], *, per_second: float
) -> list[float]:
    """Return how long each took from when it was to be accepted to its call.

    The id says when it was accepted, to the millisecond; when it was to be follows from
    the most punctual, so that a stall shows in all that were due meanwhile.
    """
    offset = time.time() - time.monotonic()
    called: Mapping[UUID, float] = {call.delivery_id: call.at for call in calls}
    missing = [each for each in ids if each not in called]
    if missing:
        raise BenchmarkFailed(f"{len(missing)} of {len(ids)} urgent ones were not sent")
    first = min(
        (each.int >> 80) / 1000 - offset - number / per_second
        for number, each in enumerate(ids)
    )
    return [
        called[each] - (first + number / per_second) for number, each in enumerate(ids)
    ]


_HIGH = """
SELECT d.id FROM delivery d JOIN notification n ON n.id = d.notification_id
 WHERE d.id >= %s AND n.id >= %s AND n.priority = 0 ORDER BY n.id
"""


def _high_since(ground: Ground, floor: UUID) -> list[UUID]:
    with psycopg.connect(ground.database) as connection:
        rows = connection.execute(_HIGH, [floor, floor]).fetchall()
    return [row[0] for row in rows]


def _is_due(ground: Ground) -> bool:
    with psycopg.connect(ground.database) as connection:
        row = connection.execute(
            "SELECT 1 FROM outbox WHERE priority = 2 AND channel = 2"
            " AND due_at <= now() LIMIT 1"
        ).fetchone()
    return row is not None


def _add_backlog(ground: Ground, options: Namespace) -> None:
    call = (
        "from benchmarks.waiting_rows import add;"
        f" add(due={options.due}, later={options.later})"
    )
    run_command(
        [*MANAGE, "shell", "--no-imports", "--command", call], ground.environment
    )
    ground.tidy()
    ground.checkpoint()


def _accepting(ground: Ground, options: Namespace) -> list[str]:
    seconds = options.seconds + _WARM_UP_SECONDS
    call = (
        "from benchmarks.backlog import accept_steadily;"
        f" accept_steadily(key={secrets.token_hex(8)!r}, seconds={seconds},"
        f" per_second={options.high_per_second}, people={ground.people})"
    )
    return [*MANAGE, "shell", "--no-imports", "--command", call]
