"""Goal `accept`: POST /v1/notifications against DRF serializers and the ORM.

Both endpoints write the same rows (checked first), on one durable PostgreSQL, in
turns. Then the platform's own latency with a consumer at work beside it, at 70 % of the
rate at which the two of them can carry notifications through to their end.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.accepted_rows import (
    check_accepted,
    forget_since,
    notification_id,
    rows_of,
    throughput_since,
)
from benchmarks.environment import describe
from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import Spread, percentile, spread
from benchmarks.ground import Ground, prepared_ground
from benchmarks.interleaving import interleave
from benchmarks.load import Load, Outcome, put_load
from benchmarks.measuring import measure
from benchmarks.reporting import report
from benchmarks.serving import Server, Size, start_server
from benchmarks.submissions import CHANNELS, submissions
from devstack.platform import MANAGE
from foundation.ids import floor_id

MUST_RATIO, AIM_RATIO = 3.0, 5.0
MUST_P99_MS, AIM_P99_MS = 100, 50
SHARE_OF_MAXIMUM = 0.7
REPLAY_EVERY = 20
WARM_UP_SECONDS = 2.0
DRAIN_SECONDS = 300.0
SETTINGS = {
    "platform": "config.settings",
    "drf_orm": "benchmarks.baselines.drf_orm.settings",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The two servers, the platform's first, on their common ground."""

    ground: Ground
    servers: Sequence[Server]
    options: Namespace


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0, help="each repetition")
    parser.add_argument("--open-seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2, help="processes, each side")
    parser.add_argument("--threads", type=int, default=4, help="of each process")
    parser.add_argument("--history", type=int, default=100_000, help="notifications")


def run(options: Namespace) -> dict[str, Any]:
    """Measure; return the fields of the last line."""
    with prepared_ground(history=options.history) as ground:
        report(environment=describe(ground.database), options=vars(options))
        size = Size(workers=options.workers, threads=options.threads)
        servers = [
            start_server(ground.crew, name=name, settings_module=settings, size=size)
            for name, settings in SETTINGS.items()
        ]
        bench = Bench(ground=ground, servers=servers, options=options)
        with _cleared_away(bench):
            _check_same_rows(bench)
        with _cleared_away(bench):
            ours, baseline = _find_maxima(bench, servers)
        with _cleared_away(bench):
            _find_maxima(bench, servers, replay_every=REPLAY_EVERY)
        p99_ms = _measure_latency(bench)
    return verdict(ours=ours.median, baseline=baseline.median, p99_ms=p99_ms)


def verdict(*, ours: float, baseline: float, p99_ms: float) -> dict[str, Any]:
    """Hold the figures against what they must be."""
    ratio = ours / baseline
    return {
        "value": ours,
        "baseline": baseline,
        "ratio": ratio,
        "must": MUST_RATIO,
        "aim": AIM_RATIO,
        "p99_ms": p99_ms,
        "p99_must_ms": MUST_P99_MS,
        "p99_aim_ms": AIM_P99_MS,
        "ok": ratio >= MUST_RATIO and p99_ms <= MUST_P99_MS,
    }


def _check_same_rows(bench: Bench) -> None:
    """Raise unless both sides leave the same rows, of the same people in turn."""
    left = []
    for server in bench.servers:
        outcome = _measure(bench, _load(bench, server, seconds=3.0, connections=1))
        # One connection: the order of ids is that of the people asked for.
        ids = sorted(map(notification_id, outcome.accepted))[:40]
        left.append([rows_of(bench.ground.database, each) for each in ids])
    for ours, theirs in zip(*left, strict=False):
        if ours != theirs:
            raise BenchmarkFailed(f"rows differ:\n{ours}\n{theirs}")
    report(gate="same rows", notifications=min(map(len, left)))


def _find_maxima(
    bench: Bench,
    servers: Sequence[Server],
    *,
    replay_every: int = 0,
) -> list[Spread]:
    """Find each server's highest rate, in turns."""
    share = 1 / replay_every if replay_every else 0.0
    about: dict[str, Any] = {"loop": "closed", "replays": share}
    for server in servers:
        put_load(_load(bench, server, seconds=WARM_UP_SECONDS))

    def measure_rate(server: Server, repetition: int) -> float:
        load = _load(
            bench, server, seconds=bench.options.seconds, replay_every=replay_every
        )
        named = {"side": server.name, **about, "repetition": repetition}
        return _measure(bench, load, **named).rate

    rates = interleave(servers, measure_rate, repetitions=bench.options.repetitions)
    spreads = [spread(each) for each in rates]
    for server, found in zip(servers, spreads, strict=True):
        report(summary=server.name, **about, **asdict(found))
    return spreads


def _measure_latency(bench: Bench) -> float:
    """Return our 99th percentile in ms while a consumer delivers what is accepted.

    At a share of what the two can carry through: a higher rate of acceptance is one
    that leaves an ever longer queue.
    """
    ours = bench.servers[0]
    consumer = bench.ground.crew.start("consumer", [*MANAGE, "consume_deliveries"])
    beside = {"consumer": consumer.pid}
    rate = SHARE_OF_MAXIMUM * _find_throughput(bench, beside).median
    load = _load(
        bench,
        ours,
        seconds=bench.options.open_seconds,
        warm_up=5.0,
        rate=rate,
        connections=4 * bench.options.connections,
    )
    about = {"side": ours.name, "loop": "open", "offered": rate}
    outcome = _measure(bench, load, companions=beside, **about)
    report(queued_at_the_end=_queued(bench.ground.database))
    _wait_until_delivered(bench)
    bench.ground.check_invariants()
    return percentile(outcome.latencies, 0.99) * 1000


def _find_throughput(bench: Bench, beside: Mapping[str, int]) -> Spread:
    """Find how many notifications a second are accepted and delivered to the last."""
    about: dict[str, Any] = {"side": bench.servers[0].name, "loop": "closed"}
    rates = []
    for repetition in range(1, bench.options.repetitions + 1):
        begin = _floor()
        load = _load(bench, bench.servers[0], seconds=bench.options.seconds)
        _measure(bench, load, companions=beside, **about, repetition=repetition)
        _wait_until_delivered(bench)
        rates.append(throughput_since(bench.ground.database, begin))
    found = spread(rates)
    report(summary="accepted and delivered", **about, **asdict(found))
    return found


def _load(bench: Bench, server: Server, **options: Any) -> Load:
    requests = submissions(
        port=server.port,
        api_key=bench.ground.api_key,
        key=token_hex(8),
        template=bench.ground.template,
        people=bench.ground.people,
    )
    options = {"connections": bench.options.connections, **options}
    return Load(
        port=server.port, identity=server.identity, requests=requests, **options
    )


def _measure(
    bench: Bench,
    load: Load,
    *,
    companions: Mapping[str, int] | None = None,
    **about: Any,
) -> Outcome:
    """Measure from a checkpoint on; then hold the rows against the answers."""
    bench.ground.checkpoint()
    floor = _floor()
    server = next(each for each in bench.servers if each.port == load.port)
    roots = {
        "server": server.pid,
        "postgres": bench.ground.postgres_pid,
        **(companions or {}),
    }
    measured = measure(load, roots=roots)
    check_accepted(
        bench.ground.database,
        floor=floor,
        answers=measured.outcome.accepted,
        channels=len(CHANNELS),
    )
    if about:
        report(**about, **measured.figures())
    return measured.outcome


@contextmanager
def _cleared_away(bench: Bench) -> Iterator[None]:
    """Check what is written within and clear it away, for the next to start alike."""
    begin = _floor()
    yield
    bench.ground.check_invariants()
    forget_since(bench.ground.owner, begin)
    bench.ground.tidy()


def _wait_until_delivered(bench: Bench) -> None:
    bench.ground.crew.wait_until(
        lambda: _queued(bench.ground.database) == 0,
        seconds=DRAIN_SECONDS,
        what="the consumer delivers everything",
    )


def _floor() -> UUID:
    return floor_id(datetime.now(UTC))


def _queued(database: str) -> int:
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT count(*) FROM outbox").fetchone()
    return int(row[0]) if row else 0
