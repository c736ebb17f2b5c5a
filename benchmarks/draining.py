"""One relay that drains its due rows: how long it takes, and what it costs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.broker import Kafka, Reader
from benchmarks.cpu import tree_cpu_seconds
from benchmarks.due_rows import (
    DueRows,
    begin,
    check_published,
    forget,
    recorded,
    tidy,
)
from benchmarks.failure import BenchmarkFailed
from benchmarks.ground import Ground
from devstack.processes import Crew, crew

# Of a round's rows, in an untimed one that comes first: a start is not a rate.
WARM_UP_SHARE = 0.25
DRAIN_SECONDS = 120.0
# Finer than a crew's own waiting: a round may be over in a second.
LOOK_EVERY_SECONDS = 0.02

# By how much rows may be due before they are added.
_DUE_BEFORE = timedelta(seconds=2)

Cpu = Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """One side: its process, the rows that it drains round by round, its records."""

    name: str
    command: Sequence[str]
    due: DueRows
    rows: int
    rounds: int
    reader: Reader
    identify: Callable[[bytes], UUID]

    def read(self) -> list[UUID]:
        """Return which rows have a record that was not read before."""
        return [self.identify(value) for value in self.reader.read()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What some rows took of the clock, and of the processors where that is known."""

    rows: int
    seconds: float
    cpu_seconds: Cpu

    @property
    def rate(self) -> float:
        return self.rows / self.seconds

    def figures(self) -> dict[str, Any]:
        """Return what a benchmark prints of it."""
        return {
            "per_second": self.rate,
            "rows": self.rows,
            "seconds": self.seconds,
            "cpu_us_per_row": {
                name: None if used is None else used / self.rows * 1e6
                for name, used in self.cpu_seconds.items()
            },
            "load_average": os.getloadavg()[0],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where relays are measured: the broker, and the database with its processes."""

    kafka: Kafka
    ground: Ground


def drain(relay: Relay, bench: Bench, *, check_invariants: bool = False) -> Drained:
    """Start a relay and let it drain; return what it took after the first round.

    Raises BenchmarkFailed unless every row of every round is recorded as published and
    lies in the topics, once. What a round published is deleted before the next begins,
    as consumers would have done.
    """
    ground = bench.ground
    ground.checkpoint()
    sizes = [int(WARM_UP_SHARE * relay.rows)] + relay.rounds * [relay.rows]
    rounds = []
    with crew(folder=ground.crew.folder, environment=ground.environment) as hired:
        roots = {
            "relay": hired.start(relay.name, relay.command).pid,
            "postgres": ground.postgres_pid,
            "kafka": bench.kafka.pid,
        }
        for size in sizes:
            floor = begin()
            rounds.append(_drain(relay, size, ground=ground, hired=hired, roots=roots))
            rows = recorded(ground.database, relay.due, floor=floor)
            if check_invariants:
                ground.check_invariants()
            # Before the records are read: the relay notices meanwhile that nothing lies
            # unclaimed, and has its whole window again.
            forget(ground.owner, relay.due, floor=floor)
            _check(relay, rows, added=size)
    # The relay has ended: what it published after the last look is there by now.
    check_published(set(), relay.read())
    tidy(ground.owner, relay.due)
    return total(rounds[1:])


def total(rounds: Sequence[Drained]) -> Drained:
    """Add rounds up."""
    used: dict[str, float | None] = {}
    for name in rounds[0].cpu_seconds:
        known = [each.cpu_seconds[name] for each in rounds]
        seconds = [each for each in known if each is not None]
        used[name] = sum(seconds) if len(seconds) == len(known) else None
    return Drained(
        rows=sum(each.rows for each in rounds),
        seconds=sum(each.seconds for each in rounds),
        cpu_seconds=used,
    )


def _drain(
    relay: Relay,
    rows: int,
    *,
    ground: Ground,
    hired: Crew,
    roots: Mapping[str, int | None],
) -> Drained:
    """Add rows; time from their commit until all of them are recorded."""
    with (
        psycopg.connect(ground.owner) as adding,
        psycopg.connect(ground.database, autocommit=True) as looking,
    ):
        # Beside an old snapshot a look without it would take longer than the drain.
        since = datetime.now(UTC) - _DUE_BEFORE
        named = {"rows": rows, "template": ground.template["name"]}
        adding.execute(relay.due.add, named)
        before = _cpu(roots)
        adding.commit()
        started = time.monotonic()
        while looking.execute(
            relay.due.unrecorded, {"since": since}, prepare=True
        ).rowcount:
            hired.check()
            if time.monotonic() - started > DRAIN_SECONDS:
                raise BenchmarkFailed(f"{relay.name} does not drain {rows} rows")
            time.sleep(LOOK_EVERY_SECONDS)
        seconds = time.monotonic() - started
    return Drained(rows=rows, seconds=seconds, cpu_seconds=_since(before, _cpu(roots)))


def _check(relay: Relay, rows: set[UUID], *, added: int) -> None:
    if len(rows) != added:
        raise BenchmarkFailed(f"{added} rows were added and {len(rows)} are there")
    check_published(rows, relay.read())


def _cpu(roots: Mapping[str, int | None]) -> Cpu:
    return {
        name: None if pid is None else tree_cpu_seconds(pid)
        for name, pid in roots.items()
    }


def _since(before: Cpu, after: Cpu) -> Cpu:
    return {
        name: None if end is None or (begun := before[name]) is None else end - begun
        for name, end in after.items()
    }
