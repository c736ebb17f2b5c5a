"""Put load on an HTTP server, from a process of its own.

Closed loop: every connection sends the next request when the last one is answered;
that finds the highest rate. Open loop: requests are due at fixed times whatever became
of those before, and a latency counts from the moment its request was due, so that a
stalled server cannot hide its stall by slowing us down.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Protocol

import uvloop

from benchmarks.failure import BenchmarkFailed
from benchmarks.http_connection import Connection

DRAIN_SECONDS = 30.0
_REPLAYED = b"\r\nidempotent-replayed: true"


class Requests(Protocol):
    """Writes requests; the same number always gives the same bytes. Pickled."""

    def encode(self, number: int) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to send where, how, and for how long.

    Every answer must carry `identity` in its head, or it is not our server's. With a
    `rate` (per second) the loop is open. One in `replay_every` requests repeats the
    one before it on its connection; 0 means none does. An open loop looks every `tick`
    seconds what is due: often looks cost what a server on the same machine could use.
    """

    port: int
    identity: str
    requests: Requests
    seconds: float
    host: str = "127.0.0.1"
    connections: int = 32
    warm_up: float = 1.0
    rate: float | None = None
    replay_every: int = 0
    tick: float = 0.001


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came back; rates and latencies leave the warm-up out, counts do not.

    Latencies are of answers with 202; of the others, `refused` has the numbers and how
    long each took. `elapsed` is until the last answer, which may come late.
    """

    latencies: list[float] = field(default_factory=list)
    refused: dict[int, float] = field(default_factory=dict)
    elapsed: float = 0.0
    accepted: list[bytes] = field(default_factory=list)
    repeated: int = 0
    replayed: int = 0
    others: Counter[str] = field(default_factory=Counter)
    servers: set[str] = field(default_factory=set)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    latest_tick: float = 0.0

    @property
    def rate(self) -> float:
        """Return the answers a second within the measured time."""
        return len(self.latencies) / self.seconds


def put_load(load: Load) -> Outcome:
    """Run the load in a process of its own; raise BenchmarkFailed if that failed."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as generator:
        try:
            return generator.submit(generate, load).result()
        except OSError as broken:
            raise BenchmarkFailed(f"no connection to the server: {broken}") from broken


def generate(load: Load) -> Outcome:
    """Run the load in this process."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(load))


async def _run(load: Load) -> Outcome:
    loop = asyncio.get_running_loop()
    shift = _Shift(load)
    connections = [
        (await loop.create_connection(shift.hire, load.host, load.port))[1]
        for _ in range(load.connections)
    ]
    used = time.process_time()
    try:
        await shift.work(connections)
    finally:
        for connection in connections:
            connection.close()
    shift.outcome.cpu_seconds = time.process_time() - used
    return shift.outcome


class _Shift:
    """One run of a load: who is busy, what is due, what came back."""

    def __init__(self, load: Load) -> None:
        self.outcome = Outcome(seconds=load.seconds)
        self._load = load
        self._identity = load.identity.lower().encode()
        self._sent = 0
        self._busy = 0
        # The one that has waited longest is next: servers close what idles.
        self._free: deque[Connection] = deque()
        self._due: deque[float] = deque()
        self._measured_from = self._until = 0.0
        self._failure: BenchmarkFailed | None = None

    def hire(self) -> Connection:
        return Connection(on_answer=self._answered, on_loss=self._fail)

    async def work(self, connections: Sequence[Connection]) -> None:
        self._measured_from = time.perf_counter() + self._load.warm_up
        self._until = self._measured_from + self._load.seconds
        self._free += connections
        if self._load.rate is None:
            self._due.extend([0.0] * len(connections))
            self._send_due()
            await asyncio.sleep(self._until - time.perf_counter())
        else:
            await self._tick(self._load.rate)
        await self._drain()

    async def _drain(self) -> None:
        deadline = time.perf_counter() + DRAIN_SECONDS
        while self._busy or self._due:
            self._check()
            if time.perf_counter() > deadline:
                raise BenchmarkFailed(f"{self._busy} requests were never answered")
            await asyncio.sleep(0.01)
        self._check()

    async def _tick(self, rate: float) -> None:
        """Make requests due by the clock until the time is over."""
        start = time.perf_counter()
        count, total = 0, round(rate * (self._load.warm_up + self._load.seconds))
        while count < total:
            self._check()
            now = time.perf_counter()
            late = now - (start + count / rate)
            self.outcome.latest_tick = max(self.outcome.latest_tick, late)
            while count < total and start + count / rate <= now:
                self._due.append(start + count / rate)
                count += 1
            self._send_due()
            await asyncio.sleep(self._load.tick)

    def _send_due(self) -> None:
        while self._due and self._free:
            connection = self._free.popleft()
            connection.due = self._due.popleft() or time.perf_counter()
            self._send(connection)

    def _send(self, connection: Connection) -> None:
        every = self._load.replay_every
        if every and connection.number and (self._sent + 1) % every == 0:
            self.outcome.repeated += 1
        else:
            connection.number = self._sent + 1
        self._sent += 1
        self._busy += 1
        connection.send(self._load.requests.encode(connection.number))

    def _answered(self, connection: Connection, head: bytes, body: bytes) -> None:
        now = time.perf_counter()
        self._busy -= 1
        self._note(head, body)
        if self._load.rate is None:
            measured = self._measured_from <= now < self._until
        else:
            measured = self._measured_from <= connection.due
        if measured:
            self.outcome.elapsed = now - self._measured_from
            if head[9:12] == b"202":
                self.outcome.latencies.append(now - connection.due)
            else:
                self.outcome.refused[connection.number] = now - connection.due
        self._free.append(connection)
        if self._load.rate is None and now < self._until:
            self._due.append(now)
        self._send_due()

    def _note(self, head: bytes, body: bytes) -> None:
        at = head.find(self._identity)
        if at < 0:
            self._fail(f"not the server that was started: {head!r}")
            return
        self.outcome.servers.add(head[at:].partition(b"\r")[0].decode())
        if head[9:12] != b"202":
            self.outcome.others[head[9:12].decode()] += 1
        elif _REPLAYED in head:
            self.outcome.replayed += 1
        else:
            self.outcome.accepted.append(body)

    def _fail(self, reason: str) -> None:
        self._failure = self._failure or BenchmarkFailed(reason)

    def _check(self) -> None:
        # A protocol's callback cannot raise to anybody.
        if self._failure is not None:
            raise self._failure
