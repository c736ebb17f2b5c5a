"""Goal `overload`: what is accepted, and how soon, when more comes than can be.

First the highest rate at which the web processes accept, in closed loops of urgent
submissions, which are never refused. Then 1.3 times that, by the clock, of all three
classes: how much of the maximum is still accepted, how long that takes, whether what is
refused is told so at once, and whether anything urgent is among it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any
from uuid import UUID

from benchmarks.accepted_rows import check_accepted
from benchmarks.environment import describe
from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import percentile, spread
from benchmarks.ground import Ground, prepared_ground
from benchmarks.load import Load, Outcome, put_load
from benchmarks.reporting import report
from benchmarks.serving import Server, Size, start_server
from benchmarks.submissions import CHANNELS, Submissions, submissions
from foundation.ids import floor_id
from tenants.categories import Priority

OFFERED = 1.3
CONNECTIONS = (16, 32, 64)
# More than ever wait for an answer, and fewer than a server begins to close.
OVERLOAD_CONNECTIONS = 512
MUST_GOODPUT, AIM_GOODPUT = 0.9, 0.95
MUST_P99_MS, AIM_P99_MS = 1000.0, 300.0
# Of ten: urgent ones, ordinary ones, and the rest, which can wait.
_OF_TEN = 10
_HIGH, _NORMAL = 1, 6


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--repetitions", type=int, default=3, help="of each loop")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each of them")
    parser.add_argument("--overload-seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--threads", type=int, default=64, help="of each process")
    parser.add_argument("--pool", type=int, default=8, help="connections of each")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """Submissions of all classes, each number's always of the same."""

    by_class: Mapping[Priority, Submissions]

    def encode(self, number: int) -> bytes:
        """Write one request."""
        return self.by_class[class_of(number)].encode(number)


def class_of(number: int) -> Priority:
    """Tell of which class a request is."""
    place = number % _OF_TEN
    if place < _HIGH:
        return Priority.HIGH
    return Priority.NORMAL if place < _HIGH + _NORMAL else Priority.LOW


def run(options: Namespace) -> dict[str, Any]:
    """Measure; return the fields of the last line."""
    with prepared_ground(history=0) as ground:
        report(environment=describe(ground.database), options=vars(options))
        size = Size(
            workers=options.workers, threads=options.threads, connections=options.pool
        )
        server = start_server(
            ground.crew, name="platform", settings_module="config.settings", size=size
        )
        maximum = _find_maximum(ground, server, options)
        outcome = _measure(
            ground,
            server,
            seconds=options.overload_seconds,
            warm_up=5.0,
            rate=OFFERED * maximum,
            connections=OVERLOAD_CONNECTIONS,
        )
        ground.check_invariants()
    return verdict(figures(outcome, maximum=maximum))


def _find_maximum(ground: Ground, server: Server, options: Namespace) -> float:
    """Return the highest rate of a closed loop, whatever number of connections it
    takes."""
    highest = 0.0
    for connections in CONNECTIONS:
        rates = [
            _measure(
                ground,
                server,
                seconds=options.seconds,
                connections=connections,
                only=Priority.HIGH,
            ).rate
            for _ in range(options.repetitions)
        ]
        found = spread(rates)
        report(part="maximum", connections=connections, **asdict(found))
        highest = max(highest, found.median)
    return highest


def _measure(
    ground: Ground, server: Server, *, only: Priority | None = None, **options: Any
) -> Outcome:
    """Put load on; hold the rows against the answers."""
    ground.checkpoint()
    floor: UUID = floor_id(datetime.now(UTC))
    load = Load(
        port=server.port,
        identity=server.identity,
        requests=_requests(ground, server, only=only),
        **options,
    )
    outcome = put_load(load)
    check_accepted(
        ground.database, floor=floor, answers=outcome.accepted, channels=len(CHANNELS)
    )
    if surplus := set(outcome.others) - {"503"}:
        raise BenchmarkFailed(f"answers that are neither 202 nor 503: {surplus}")
    return outcome


def _requests(ground: Ground, server: Server, *, only: Priority | None) -> Mixed:
    key = token_hex(8)
    return Mixed(
        by_class={
            priority: submissions(
                port=server.port,
                api_key=ground.api_key,
                key=key,
                template=ground.template,
                people=ground.people,
                priority=(priority if only is None else only).key,
            )
            for priority in Priority
        }
    )


def figures(outcome: Outcome, *, maximum: float) -> dict[str, Any]:
    """Say what became of an overload."""
    refused = Counter(class_of(number) for number in outcome.refused)
    slowest = percentile(list(outcome.refused.values()), 0.99) if refused else 0.0
    seconds = max(outcome.seconds, outcome.elapsed)
    return {
        "goodput": len(outcome.latencies) / seconds / maximum,
        "maximum_per_second": maximum,
        "p50_ms": percentile(outcome.latencies, 0.5) * 1000,
        "p99_ms": percentile(outcome.latencies, 0.99) * 1000,
        "refused_p99_ms": slowest * 1000,
        "refused": {priority.key: refused[priority] for priority in Priority},
        "accepted": len(outcome.latencies),
        "generator_cpu": outcome.cpu_seconds / seconds,
        "generator_late_ms": outcome.latest_tick * 1000,
    }


def verdict(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Hold the figures against what they must be."""
    return {
        "value": measured["goodput"],
        "must": MUST_GOODPUT,
        "aim": AIM_GOODPUT,
        **measured,
        "p99_ms_must": MUST_P99_MS,
        "ok": measured["goodput"] >= MUST_GOODPUT
        and measured["p99_ms"] <= MUST_P99_MS
        and measured["refused"][Priority.HIGH.key] == 0,
    }
