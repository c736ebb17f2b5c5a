"""One load on one server: what came back, and what it cost the processors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.cpu import tree_cpu_seconds
from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import percentile
from benchmarks.load import Load, Outcome, put_load


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An outcome beside the CPU seconds of each process tree that served it."""

    outcome: Outcome
    cpu_seconds: Mapping[str, float | None]

    def figures(self) -> dict[str, Any]:
        """Return what a benchmark prints of it."""
        outcome = self.outcome
        answers = len(outcome.accepted) + outcome.replayed
        return {
            "per_second": outcome.rate,
            "ms": {
                name: percentile(outcome.latencies, share) * 1000
                for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
            },
            "accepted": len(outcome.accepted),
            "replayed": outcome.replayed,
            "server_processes": len(outcome.servers),
            "cpu_us_per_request": {
                name: None if used is None else used / answers * 1e6
                for name, used in self.cpu_seconds.items()
            },
            "generator_late_ms": outcome.latest_tick * 1000,
            "load_average": os.getloadavg()[0],
        }


def measure(load: Load, *, roots: Mapping[str, int]) -> Measured:
    """Put the load on; `roots` names the processes whose trees do the work.

    Raises BenchmarkFailed unless every request was accepted or, where it was a repeat,
    answered again.
    """
    before = {name: tree_cpu_seconds(pid) for name, pid in roots.items()}
    outcome = put_load(load)
    used = {
        name: _difference(tree_cpu_seconds(pid), before[name])
        for name, pid in roots.items()
    }
    if outcome.others or outcome.replayed != outcome.repeated:
        raise BenchmarkFailed(
            f"answers other than 202: {dict(outcome.others)};"
            f" {outcome.replayed} replays of {outcome.repeated} repeats"
        )
    if not outcome.latencies:
        raise BenchmarkFailed("nothing was answered in the measured time")
    return Measured(
        outcome=outcome, cpu_seconds={**used, "generator": outcome.cpu_seconds}
    )


def _difference(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before
