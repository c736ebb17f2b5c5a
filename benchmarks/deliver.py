"""Goal `deliver`: accepted notifications to sent ones, against a task for each.

Every side empties a backlog that the platform accepted: it claims, obeys policy,
renders, calls a provider that answers at once over HTTP, and settles with the audit
trail; the same rows are left (checked first). In turns, on one durable PostgreSQL and
one Apache Kafka.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.baselines.task_per_delivery.sides import CELERY, PROCRASTINATE, Side
from benchmarks.broker import fresh_kafka
from benchmarks.environment import describe
from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import spread
from benchmarks.ground import Ground, prepared_ground
from benchmarks.interleaving import interleave
from benchmarks.memory import Memory, watch_memory
from benchmarks.pipeline import Drained, drain
from benchmarks.provider import Provider, start_provider
from benchmarks.reporting import report
from devstack.platform import MANAGE
from devstack.processes import run as run_command

MUST_RATIO, AIM_RATIO = 8.0, 15.0
UNREACHED_RATE = 1_000_000
MUST_MEGABYTES, MUST_GROWTH = 200.0, 1.05
WHOLE_LIFE_ROUNDS, WHOLE_LIFE_ROWS = 5, 12_000
# A channel's consumers as the compose file has them; one for each processor, as the
# baselines have.
_CONSUMERS = ((*MANAGE, "consume_deliveries", "--channel", "sms"),) * 2
OURS = (
    Side(
        name="postgres",
        workers=_CONSUMERS,
        environment={"DELIVERY_TRANSPORT": "postgres"},
    ),
    Side(
        name="kafka",
        workers=(*_CONSUMERS, (*MANAGE, "relay_outbox")),
        environment={"DELIVERY_TRANSPORT": "kafka"},
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What all sides have in common."""

    ground: Ground
    provider: Provider
    options: Namespace

    def drain(self, side: Side, repetition: int) -> Drained:
        """Measure one side once, and print it."""
        is_ours = side in OURS
        backlog = self.options.backlog if is_ours else self.options.baseline_backlog
        drained = drain(
            side, ground=self.ground, provider=self.provider, backlog=backlog
        )
        report(side=side.name, repetition=repetition, **drained.figures())
        return drained


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--backlog", type=int, default=40_000, help="ours, each time")
    parser.add_argument("--baseline-backlog", type=int, default=4_000)
    parser.add_argument("--memory-seconds", type=float, default=300.0)
    parser.add_argument("--history", type=int, default=100_000, help="notifications")


def run(options: Namespace) -> dict[str, Any]:
    """Measure; return the fields of the last line."""
    with (
        fresh_kafka() as kafka,
        prepared_ground(history=options.history, kafka=kafka) as ground,
    ):
        known = {**describe(ground.database), "kafka": kafka.describe()}
        report(environment=known, options=vars(options))
        provider = start_provider(ground.crew)
        ground.environment["HTTP_PROVIDER_URL"] = provider.url
        # The account's limit is asked, and never reached.
        ground.environment["HTTP_PROVIDER_RATE"] = str(UNREACHED_RATE)
        bench = Bench(ground=ground, provider=provider, options=options)
        for side in (*CELERY, *PROCRASTINATE):
            _prepare(bench, side)
        medians = _measure_all(bench)
        ground.check_invariants()
        whole_life = _measure_whole_life(bench)
        memories = [_watch_memory(bench, side) for side in OURS]
    return verdict(medians=medians, whole_life=whole_life, memories=memories)


def verdict(
    *,
    medians: Mapping[str, float],
    whole_life: float,
    memories: Sequence[Memory],
) -> dict[str, Any]:
    """Hold the figures against what they must be: the slower transport counts."""
    ours = min(medians["postgres"], medians["kafka"])
    baseline = max(medians["celery"], medians["procrastinate"])
    peak = max(memory.peak_mb for memory in memories)
    growth = max(memory.growth for memory in memories)
    return {
        "value": ours,
        "baseline": baseline,
        "ratio": ours / baseline,
        **{name: medians[name] for name in medians},
        "must": MUST_RATIO,
        "aim": AIM_RATIO,
        "of_whole_life": ours / whole_life,
        "memory_mb": peak,
        "memory_must_mb": MUST_MEGABYTES,
        "memory_growth": growth,
        "memory_growth_must": MUST_GROWTH,
        "ok": ours / baseline >= MUST_RATIO
        and peak <= MUST_MEGABYTES
        and growth <= MUST_GROWTH,
    }


def _prepare(bench: Bench, side: Side) -> None:
    ground = bench.ground
    owned = {**ground.environment, "DATABASE_OWNER_URL": ground.owner}
    for command in side.prepare:
        run_command(command, {**owned, **side.environment})


def _measure_all(bench: Bench) -> dict[str, float]:
    """Measure all sides in turns; return each one's median, by its name."""
    sides = {side.name: side for side in OURS}
    sides["celery"] = _fastest(bench, CELERY)
    sides["procrastinate"] = _fastest(bench, PROCRASTINATE)
    drains = interleave(
        list(sides.values()), bench.drain, repetitions=bench.options.repetitions
    )
    _check_same_rows(drains)
    medians = {}
    for name, found in zip(sides, drains, strict=True):
        rates = spread([drained.rate for drained in found])
        report(summary=name, **asdict(rates))
        medians[name] = rates.median
    return medians


def _fastest(bench: Bench, sides: Sequence[Side]) -> Side:
    """Try each way of running a baseline once; return the fastest."""
    rates = [bench.drain(side, 0).rate for side in sides]
    return sides[rates.index(max(rates))]


def _check_same_rows(drains: Sequence[Sequence[Drained]]) -> None:
    """Raise unless every side leaves the same rows of a delivery."""
    kinds = {tuple(drained.left) for found in drains for drained in found}
    if len(kinds) != 1:
        raise BenchmarkFailed(f"rows differ: {kinds}")


def _measure_whole_life(bench: Bench) -> float:
    """Return the deliveries a second of the statements alone, on one connection."""
    template = bench.ground.template["name"]
    call = (
        "from benchmarks.whole_life import print_rate;"
        f" print_rate(rounds={WHOLE_LIFE_ROUNDS}, rows={WHOLE_LIFE_ROWS},"
        f" template={template!r})"
    )
    command = [*MANAGE, "shell", "--no-imports", "--command", call]
    rate = float(run_command(command, bench.ground.environment))
    report(whole_life_per_second=rate)
    return rate


def _watch_memory(bench: Bench, side: Side) -> Memory:
    memory = watch_memory(
        side,
        ground=bench.ground,
        provider=bench.provider,
        seconds=bench.options.memory_seconds,
    )
    report(side=side.name, memory=memory.figures())
    return memory
