"""How much memory the processes of a side take while they deliver for minutes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.baselines.task_per_delivery.sides import Side
from benchmarks.delivered_rows import check_delivered
from benchmarks.due_rows import begin
from benchmarks.ground import Ground
from benchmarks.pipeline import (
    accept_backlog,
    start_workers,
    wait_until_delivered,
)
from benchmarks.provider import Provider
from devstack.processes import crew

# Caches and pools are full by then.
WARM_AFTER_SECONDS = 60.0
CHUNK = 2_000
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Of the largest process: MB at the peak and after a minute; and the largest
    growth of any process, its end by its first minute."""

    peak_mb: float
    warm_mb: float
    growth: float
    deliveries: int

    def figures(self) -> dict[str, Any]:
        """Return what a benchmark prints of it."""
        return asdict(self)


def watch_memory(
    side: Side, *, ground: Ground, provider: Provider, seconds: float
) -> Memory:
    """Let a side deliver what is accepted all the while, and watch its processes."""
    environment = {**ground.environment, **side.environment}
    floor, number = begin(), 0
    samples: list[tuple[float, Mapping[str, float]]] = []
    with crew(folder=ground.crew.folder, environment=environment) as hired:
        workers = start_workers(side, hired)
        for elapsed in _until(seconds):
            accept_backlog(ground, CHUNK)
            number += CHUNK
            hired.check()
            samples.append((elapsed, _resident(workers)))
        wait_until_delivered(ground, hired)
        samples.append((seconds, _resident(workers)))
    received = provider.take_received()
    check_delivered(ground.database, floor=floor, received=received, number=number)
    return summarise(samples, deliveries=number)


def _until(seconds: float) -> Iterator[float]:
    started = time.monotonic()
    while (elapsed := time.monotonic() - started) < seconds:
        yield elapsed


def summarise(
    samples: Sequence[tuple[float, Mapping[str, float]]], *, deliveries: int
) -> Memory:
    """Sum up what was seen, as seconds since the start and MB of each process."""
    last = samples[-1][1]
    warm = next((sizes for at, sizes in samples if at >= WARM_AFTER_SECONDS), last)
    return Memory(
        peak_mb=max(max(sizes.values()) for _, sizes in samples),
        warm_mb=max(warm.values()),
        growth=max(last[name] / warm[name] for name in last),
        deliveries=deliveries,
    )


def _resident(workers: Mapping[str, int]) -> dict[str, float]:
    """Return what each process has in memory, in MB."""
    return {name: resident_mb(pid) for name, pid in workers.items()}


def resident_mb(pid: int) -> float:
    """Return what a process has in memory, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * _PAGE_BYTES / 1e6
