"""Goal `isolation`: whom a provider in trouble hurts besides itself.

One consumer serves everything. First the provider of text messages hangs until calls
time out: how fast do e-mails go on, how long do urgent ones take from acceptance to
their call, how much memory does it take? Then it takes only half of what it did: how
soon is that half used again, and how many calls does it have to refuse?
"""

from __future__ import annotations

import secrets
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.due_rows import begin
from benchmarks.environment import describe
from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import percentile
from benchmarks.ground import Ground, prepared_ground
from benchmarks.memory import resident_mb
from benchmarks.pipeline import accept_backlog, count_queued
from benchmarks.provider import Call, Provider, start_provider
from benchmarks.reporting import report
from devstack.platform import MANAGE
from devstack.processes import Crew, crew

RATE = 300.0
LATENCY = 0.05
TIMEOUT_SECONDS = 30.0
MUST_OTHERS, AIM_OTHERS = 0.95, 0.99
# "Unchanged": a 99th percentile of some hundred calls is not known better than that.
MUST_HIGH_RATIO = 1.5
MUST_FOUND_SECONDS, AIM_FOUND_SECONDS = 15.0, 5.0
MUST_REFUSED, AIM_REFUSED = 0.05, 0.02
MUST_RESTORED_SECONDS, AIM_RESTORED_SECONDS = 60.0, 20.0
MUST_MEMORY_MB = 200.0
PACE = 0.985
HIGH_PER_SECOND = 20.0
_SETTLING_SECONDS = 5.0
_WINDOW_SECONDS = 3.0
_CONSUMER = (*MANAGE, "consume_deliveries")


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--before", type=float, default=20.0, help="seconds")
    parser.add_argument("--trouble", type=float, default=45.0, help="seconds")


def run(options: Namespace) -> dict[str, Any]:
    """Measure; return the fields of the last line."""
    with prepared_ground(history=0) as ground:
        report(environment=describe(ground.database), options=vars(options))
        healthy = start_provider(ground.crew, "healthy")
        troubled = start_provider(ground.crew, "troubled")
        chosen = {
            "DJANGO_SETTINGS_MODULE": "benchmarks.isolation_settings",
            "HEALTHY_URL": healthy.url,
            "TROUBLED_URL": troubled.url,
            "ISOLATION_RATE": str(RATE),
            # A claim outlasts a wait and a call of TIMEOUT.
            "CLAIM_LEASE_SECONDS": "70",
        }
        ground.environment.update(chosen)
        stalled = _measure_stall(ground, healthy, troubled, options)
        report(part="stall", **stalled)
        halved = _measure_halving(ground, troubled, options)
        report(part="halving", **halved)
        ground.check_invariants()
    return verdict({**stalled, **halved})


def verdict(measured: Mapping[str, float]) -> dict[str, Any]:
    """Hold the figures against what they must be."""
    return {
        "value": measured["others"],
        "must": MUST_OTHERS,
        "aim": AIM_OTHERS,
        **measured,
        "high_ratio_must": MUST_HIGH_RATIO,
        "found_seconds_must": MUST_FOUND_SECONDS,
        "refused_must": MUST_REFUSED,
        "restored_seconds_must": MUST_RESTORED_SECONDS,
        "memory_mb_must": MUST_MEMORY_MB,
        "ok": measured["others"] >= MUST_OTHERS
        and measured["high_ratio"] <= MUST_HIGH_RATIO
        and measured["found_seconds"] <= MUST_FOUND_SECONDS
        and measured["refused"] <= MUST_REFUSED
        and measured["restored_seconds"] <= MUST_RESTORED_SECONDS
        and measured["memory_mb"] <= MUST_MEMORY_MB,
    }


def _measure_stall(
    ground: Ground, healthy: Provider, troubled: Provider, options: Namespace
) -> dict[str, float]:
    """Let text messages hang beside e-mails that never run dry."""
    floor = begin()
    lasts = _SETTLING_SECONDS + options.before + options.trouble
    accept_backlog(ground, _even(RATE * (lasts + 10)), channel="email")
    accept_backlog(ground, _even(RATE * (options.before + 15)), channel="sms")
    for provider in (healthy, troubled):
        provider.behave(latency=LATENCY)
    with (
        crew(folder=ground.crew.folder, environment=ground.environment) as hired,
        crew(folder=ground.crew.folder, environment=ground.environment) as acceptor,
    ):
        worker = hired.start("worker", _CONSUMER).pid
        urgent = acceptor.start("urgent", _accepting_urgent_ones(ground, lasts))
        watch = Watch(hired, worker)
        watch.rest(_SETTLING_SECONDS + options.before)
        stalled_at = time.monotonic()
        troubled.behave(hangs=True)
        watch.rest(options.trouble)
        ended_at = time.monotonic()
        if urgent.wait() or not count_queued(ground.database):
            raise BenchmarkFailed("the backlog ran dry, or urgent ones did not come")
        troubled.behave(latency=LATENCY)
        _wait_until_done(ground, hired)
    calls = healthy.take_calls()
    before = stalled_at - options.before
    waits = _waits_of_high(ground, calls, floor=floor)
    p99 = [
        percentile([wait for at, wait in waits if begins <= at < ends], 0.99)
        for begins, ends in ((before, stalled_at), (stalled_at, ended_at))
    ]
    _check(ground, floor=floor, calls=[*calls, *troubled.take_calls()])
    rates = [_rate(calls, before, stalled_at), _rate(calls, stalled_at, ended_at)]
    return {
        "others": rates[1] / rates[0],
        "others_before": rates[0],
        "high_p99_ms": p99[1] * 1000,
        "high_p99_before_ms": p99[0] * 1000,
        "high_ratio": p99[1] / p99[0],
        "memory_mb": watch.peak_mb,
    }


def _measure_halving(
    ground: Ground, troubled: Provider, options: Namespace
) -> dict[str, float]:
    """Halve what the provider of text messages takes, and restore it."""
    floor = begin()
    restored = MUST_RESTORED_SECONDS + _WINDOW_SECONDS
    number = RATE * (options.before + _SETTLING_SECONDS + restored)
    accept_backlog(ground, _even(number + RATE / 2 * options.trouble), channel="sms")
    troubled.behave(latency=LATENCY, capacity=RATE)
    with crew(folder=ground.crew.folder, environment=ground.environment) as hired:
        watch = Watch(hired, hired.start("worker", _CONSUMER).pid)
        watch.rest(_SETTLING_SECONDS + options.before)
        halved_at = time.monotonic()
        troubled.behave(latency=LATENCY, capacity=RATE / 2)
        watch.rest(options.trouble)
        restored_at = time.monotonic()
        troubled.behave(latency=LATENCY, capacity=RATE)
        watch.rest(restored)
        _wait_until_done(ground, hired)
    calls = troubled.take_calls()
    _check(ground, floor=floor, calls=calls)
    meanwhile = [call for call in calls if halved_at <= call.at < restored_at]
    taken = [call for call in calls if call.status == 200]
    refused = sum(call.status == 429 for call in meanwhile)
    return {
        "found_seconds": _seconds_until(taken, halved_at, 0.9 * RATE / 2),
        "refused": refused / len(meanwhile),
        "taken_of_half": _rate(taken, halved_at, restored_at) / (RATE / 2),
        "restored_seconds": _seconds_until(taken, restored_at, 0.9 * PACE * RATE),
    }


class Watch:
    """Lets time pass, and notes the most memory that a process takes meanwhile."""

    def __init__(self, hired: Crew, pid: int) -> None:
        self._hired = hired
        self._pid = pid
        self.peak_mb = 0.0

    def rest(self, seconds: float) -> None:
        """Return after so many seconds; raise if a process has ended."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))
            self._hired.check()
            self.peak_mb = max(self.peak_mb, resident_mb(self._pid))


def _rate(calls: Sequence[Call], begins: float, ends: float) -> float:
    return sum(begins <= call.at < ends for call in calls) / (ends - begins)


def _seconds_until(calls: Sequence[Call], since: float, rate: float) -> float:
    """Return after how long calls first came at this rate, for a few seconds."""
    step = 0.0
    while step < 1000:
        if _rate(calls, since + step, since + step + _WINDOW_SECONDS) >= rate:
            return step
        step += 0.25
    return step


_HIGH = """
SELECT d.id FROM delivery d JOIN notification n ON n.id = d.notification_id
 WHERE d.id >= %s AND n.priority = 0
"""


def _waits_of_high(
    ground: Ground, calls: Sequence[Call], *, floor: UUID
) -> list[tuple[float, float]]:
    """Return when each urgent one was accepted, and how long its call took to come.

    The id of a delivery says when it was accepted, to the millisecond.
    """
    offset = time.time() - time.monotonic()
    called = {call.delivery_id: call.at for call in calls}
    with psycopg.connect(ground.database) as connection:
        ids = [row[0] for row in connection.execute(_HIGH, [floor])]
    accepted = {each: (each.int >> 80) / 1000 - offset for each in ids}
    return [(at, called[each] - at) for each, at in accepted.items()]


_STANDING = """
SELECT id, status, maybe_sent FROM delivery WHERE id >= %s
"""


def _check(ground: Ground, *, floor: UUID, calls: Sequence[Call]) -> None:
    """Raise unless every message was taken once, or had no answer and says so."""
    taken = [call.delivery_id for call in calls if call.status == 200]
    silent = {call.delivery_id for call in calls if call.status == 0}
    with psycopg.connect(ground.database) as connection:
        rows = connection.execute(_STANDING, [floor]).fetchall()
    sent = {row[0] for row in rows if row[1] == "sent"}
    in_doubt = {row[0] for row in rows if row[1] == "parked" and row[2]}
    if len(taken) != len(set(taken)) or sent != set(taken):
        raise BenchmarkFailed(f"{len(sent)} are sent, {len(taken)} calls were taken")
    if len(sent) + len(in_doubt) != len(rows) or in_doubt - silent:
        raise BenchmarkFailed(f"of {len(rows)}, {len(in_doubt)} are in doubt")


def _wait_until_done(ground: Ground, hired: Crew) -> None:
    """Return when nothing is due any more; parked ones stay."""
    done: Callable[[], bool] = lambda: _count_moving(ground) == 0  # noqa: E731
    hired.wait_until(done, seconds=300, what="everything is delivered or parked")


def _count_moving(ground: Ground) -> int:
    with psycopg.connect(ground.database) as connection:
        row = connection.execute(
            "SELECT count(*) FROM outbox WHERE due_at < now() + interval '1 year'"
        ).fetchone()
    return int(row[0]) if row else 0


def _accepting_urgent_ones(ground: Ground, seconds: float) -> list[str]:
    call = (
        "from benchmarks.backlog import accept_steadily;"
        f" accept_steadily(key={secrets.token_hex(8)!r}, seconds={seconds},"
        f" per_second={HIGH_PER_SECOND}, people={ground.people}, channel='email')"
    )
    return [*MANAGE, "shell", "--no-imports", "--command", call]


def _even(number: float) -> int:
    """Two processes accept half of it each."""
    return 2 * int(number / 2)
