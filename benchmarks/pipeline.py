"""One way of delivering: its processes, and how fast they empty an accepted backlog."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import psycopg

from benchmarks.baselines.task_per_delivery.sides import Side
from benchmarks.cpu import tree_cpu_seconds
from benchmarks.delivered_rows import check_delivered
from benchmarks.due_rows import begin
from benchmarks.failure import BenchmarkFailed
from benchmarks.ground import Ground
from benchmarks.provider import Provider
from devstack.platform import MANAGE
from devstack.processes import Crew, crew, run

DRAIN_SECONDS = 300.0
# How much of the backlog is left when the clock starts and when it stops: neither
# starting up nor running dry is a rate.
BEGIN_AT, END_AT = 0.9, 0.1
_ACCEPTORS = 2
_LOOK_EVERY_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """The middle of a drain: what was settled, how long it took, and at what cost."""

    deliveries: int
    seconds: float
    cpu_seconds: Mapping[str, float | None]
    # What the rows look like that a delivery leaves.
    left: Sequence[tuple[Any, ...]]

    @property
    def rate(self) -> float:
        return self.deliveries / self.seconds

    def figures(self) -> dict[str, Any]:
        """Return what a benchmark prints of it."""
        return {
            "per_second": self.rate,
            "deliveries": self.deliveries,
            "seconds": self.seconds,
            "cpu_us_per_delivery": {
                name: None if used is None else used / self.deliveries * 1e6
                for name, used in self.cpu_seconds.items()
            },
            "load_average": os.getloadavg()[0],
        }


class _Look(NamedTuple):
    left: int
    at: float
    cpu: Mapping[str, float | None]


def drain(side: Side, *, ground: Ground, provider: Provider, backlog: int) -> Drained:
    """Accept a backlog, then start the side's processes and let them empty it.

    Raises BenchmarkFailed unless every delivery was sent and received once.
    """
    environment = {**ground.environment, **side.environment}
    floor = begin()
    accept_backlog(ground, backlog)
    for command in side.queue:
        run(command, environment)
    ground.tidy()
    ground.checkpoint()
    with crew(folder=ground.crew.folder, environment=environment) as hired:
        roots = {"postgres": ground.postgres_pid, "provider": provider.pid}
        roots |= start_workers(side, hired)

        def look_until(share: float) -> _Look:
            most = int(share * backlog)
            return _look_until(ground.database, hired, roots, at_most=most)

        first, last = look_until(BEGIN_AT), look_until(END_AT)
        look_until(0)
    received = provider.take_received()
    left = check_delivered(
        ground.database, floor=floor, received=received, number=backlog
    )
    return Drained(
        deliveries=first.left - last.left,
        seconds=last.at - first.at,
        cpu_seconds=_differences(first.cpu, last.cpu),
        left=left,
    )


def accept_backlog(
    ground: Ground, number: int, *, priority: str = "normal", channel: str = "sms"
) -> None:
    """Let the platform accept messages, in a few processes."""
    with crew(folder=ground.crew.folder, environment=ground.environment) as hired:
        processes = [
            hired.start(
                f"acceptor-{each}",
                _accepting(ground, number // _ACCEPTORS, priority, channel),
            )
            for each in range(_ACCEPTORS)
        ]
        if any(process.wait() for process in processes):
            raise BenchmarkFailed("the backlog was not accepted")


def start_workers(side: Side, hired: Crew) -> dict[str, int]:
    """Start the side's processes; return the name and number of each."""
    names = [f"worker-{number}" for number, _ in enumerate(side.workers, start=1)]
    return {
        name: hired.start(name, command).pid
        for name, command in zip(names, side.workers, strict=True)
    }


def _accepting(ground: Ground, number: int, priority: str, channel: str) -> list[str]:
    call = (
        "from benchmarks.backlog import accept_backlog;"
        f" accept_backlog(key={secrets.token_hex(8)!r}, count={number},"
        f" people={ground.people}, priority={priority!r}, channel={channel!r})"
    )
    return [*MANAGE, "shell", "--no-imports", "--command", call]


def _look_until(
    database: str, hired: Crew, roots: Mapping[str, int], *, at_most: int
) -> _Look:
    deadline = time.monotonic() + DRAIN_SECONDS
    with psycopg.connect(database, autocommit=True) as connection:
        while (left := _queued(connection)) > at_most:
            hired.check()
            if time.monotonic() > deadline:
                raise BenchmarkFailed(f"{left} deliveries are left, and should not be")
            time.sleep(_LOOK_EVERY_SECONDS)
    cpu = {name: tree_cpu_seconds(pid) for name, pid in roots.items()}
    return _Look(left=left, at=time.monotonic(), cpu=cpu)


def count_queued(database: str) -> int:
    """Count the deliveries that are not finished."""
    with psycopg.connect(database) as connection:
        return _queued(connection)


def wait_until_delivered(ground: Ground, hired: Crew) -> None:
    """Return when every delivery is finished; raise when that takes too long."""
    hired.wait_until(
        lambda: count_queued(ground.database) == 0,
        seconds=DRAIN_SECONDS,
        what="everything is delivered",
    )


def _queued(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM outbox").fetchone()
    return int(row[0]) if row else 0


def _differences(
    before: Mapping[str, float | None], after: Mapping[str, float | None]
) -> dict[str, float | None]:
    used: dict[str, float | None] = {}
    for name, end in after.items():
        start = before[name]
        used[name] = None if start is None or end is None else end - start
    return used
