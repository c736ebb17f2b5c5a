"""Goal `overload`: what is accepted, and how soon, when more comes than can be.

The highest rate at which the web processes accept is what closed loops of urgent
submissions come to, which are never refused. An overload is 1.3 times that, by the
clock, of all three classes: how much of the maximum is still accepted, how long that
takes, whether what is refused is told so at once, and whether anything urgent is among
it. The two take turns, and each overload is held against the loops before and after it:
a machine that others share is not as fast in one minute as in the next.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
# At every millisecond the generator would take a twentieth of a machine that it shares.
TICK_SECONDS = 0.005
MUST_GOODPUT, AIM_GOODPUT = 0.9, 0.95
MUST_P99_MS, AIM_P99_MS = 1000.0, 300.0
# Of ten: urgent ones, ordinary ones, and the rest, which can wait.
_OF_TEN = 10
_HIGH, _NORMAL = 1, 6


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=5.0, help="of a closed loop")
    parser.add_argument("--overload-seconds", type=float, default=12.0)
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
        connections, before = _find_maximum(ground, server, options)
        rounds = []
        for _ in range(options.rounds):
            outcome = _overload(ground, server, options, rate=OFFERED * before)
            after = _accept_most(ground, server, options, connections=connections)
            rounds.append(figures(outcome, maximum=(before + after) / 2))
            report(part="overload", before=before, after=after, **rounds[-1])
            before = after
        ground.check_invariants()
    return verdict(summary(rounds))


def _find_maximum(
    ground: Ground, server: Server, options: Namespace
) -> tuple[int, float]:
    """Return how many connections accept the most, and how much that is."""
    rates = {
        connections: _accept_most(ground, server, options, connections=connections)
        for connections in CONNECTIONS
    }
    report(part="maximum", **{str(each): rate for each, rate in rates.items()})
    best = max(rates, key=rates.__getitem__)
    return best, rates[best]


def _accept_most(
    ground: Ground, server: Server, options: Namespace, *, connections: int
) -> float:
    """Return the rate of a closed loop."""
    return _measure(
        ground,
        server,
        seconds=options.seconds,
        connections=connections,
        only=Priority.HIGH,
    ).rate


def _overload(
    ground: Ground, server: Server, options: Namespace, *, rate: float
) -> Outcome:
    return _measure(
        ground,
        server,
        seconds=options.overload_seconds,
        warm_up=5.0,
        rate=rate,
        connections=OVERLOAD_CONNECTIONS,
        tick=TICK_SECONDS,
    )


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


def summary(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Take the median of the shares and the worst of the latencies."""
    goodputs = spread([each["goodput"] for each in rounds])
    return {
        "goodput": goodputs.median,
        "goodput_lower": goodputs.lower,
        "goodput_upper": goodputs.upper,
        "refused": {
            priority.key: sum(each["refused"][priority.key] for each in rounds)
            for priority in Priority
        },
        **{
            name: max(each[name] for each in rounds)
            for name in ("p50_ms", "p99_ms", "refused_p99_ms", "generator_late_ms")
        },
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
