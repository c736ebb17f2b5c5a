"""Goal `quota`: how well four workers together use an account's calls a second.

First a backlog that would go faster: how much of the quota is used, how many calls fall
into any one second at the provider, how often Valkey is asked. Then urgent messages
beside a backlog of LOW that never ends: how long they wait for their permit.
"""

from __future__ import annotations

import re
import secrets
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

import providers
from benchmarks.baselines.task_per_delivery.sides import Command
from benchmarks.delivered_rows import check_delivered
from benchmarks.due_rows import begin
from benchmarks.environment import describe
from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import most_in_a_second
from benchmarks.ground import Ground, prepared_ground
from benchmarks.pipeline import (
    accept_backlog,
    count_queued,
    wait_until_delivered,
)
from benchmarks.provider import Call, Provider, fetch, start_provider
from benchmarks.reporting import report
from devstack.platform import MANAGE
from devstack.processes import crew
from devstack.processes import run as run_command
from devstack.servers import free_port

RATE = 500.0
MUST_USE, AIM_USE = 0.97, 0.99
MUST_IN_A_SECOND, AIM_IN_A_SECOND = 505, 500
MUST_HIGH, AIM_HIGH = 0.99, 0.999
MUST_ASKED, AIM_ASKED = 0.10, 0.03
HIGH_WITHIN_SECONDS = 0.1
WORKERS = 4
# Until all workers have come and their caches are full.
_SETTLING_SECONDS = 5.0
# What scripts themselves call; clients send next to nothing of it.
_BY_SCRIPTS = {
    called.lower()
    for script in Path(providers.__path__[0]).rglob("*.lua")
    for called in re.findall(r"redis\.call\('(\w+)'", script.read_text())
}
_CONSUMER: Command = (*MANAGE, "consume_deliveries", "--channel", "sms")


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--seconds", type=float, default=60.0, help="of each part")
    parser.add_argument("--high-per-second", type=float, default=50.0)


def run(options: Namespace) -> dict[str, Any]:
    """Measure; return the fields of the last line."""
    with prepared_ground(history=0) as ground:
        report(environment=describe(ground.database), options=vars(options))
        provider = start_provider(ground.crew)
        ground.environment["HTTP_PROVIDER_URL"] = provider.url
        ground.environment["HTTP_PROVIDER_RATE"] = str(RATE)
        used = _measure_use(ground, provider, seconds=options.seconds)
        report(part="use", **used)
        high = _measure_high(ground, provider, options)
        report(part="high", **high)
        ground.check_invariants()
    return verdict({**used, **high})


def verdict(measured: Mapping[str, float]) -> dict[str, Any]:
    """Hold the figures against what they must be."""
    return {
        "value": measured["use"],
        "must": MUST_USE,
        "aim": AIM_USE,
        **measured,
        "most_in_a_second_must": MUST_IN_A_SECOND,
        "asked_per_delivery_must": MUST_ASKED,
        "high_in_time_must": MUST_HIGH,
        "ok": measured["use"] >= MUST_USE
        and measured["most_in_a_second"] <= MUST_IN_A_SECOND
        and measured["most_in_a_second_beside_high"] <= MUST_IN_A_SECOND
        and measured["asked_per_delivery"] <= MUST_ASKED
        and measured["high_in_time"] >= MUST_HIGH,
    }


def _measure_use(
    ground: Ground, provider: Provider, *, seconds: float
) -> dict[str, float]:
    """Drain a backlog that lasts longer than what is measured."""
    floor, number = begin(), _even(RATE * (seconds + 2 * _SETTLING_SECONDS))
    accept_backlog(ground, number)
    asked = _asked(ground)
    with crew(folder=ground.crew.folder, environment=ground.environment) as hired:
        for worker in range(WORKERS):
            hired.start(f"worker-{worker}", _CONSUMER)
        wait_until_delivered(ground, hired)
    calls = provider.take_calls()
    _check(ground, calls, floor=floor, number=number)
    first = calls[0].at + _SETTLING_SECONDS
    counted = sum(first <= call.at < first + seconds for call in calls)
    return {
        "use": counted / (seconds * RATE),
        "most_in_a_second": most_in_a_second([call.at for call in calls]),
        "asked_per_delivery": (_asked(ground) - asked) / number,
    }


def _measure_high(
    ground: Ground, provider: Provider, options: Namespace
) -> dict[str, float]:
    """Accept urgent ones while LOW has more than its share."""
    floor, low = begin(), _even(RATE * 0.6 * (options.seconds + 3 * _SETTLING_SECONDS))
    accept_backlog(ground, low, priority="low")
    ports = [free_port() for _ in range(WORKERS)]
    high = int(options.seconds * options.high_per_second)
    with crew(folder=ground.crew.folder, environment=ground.environment) as hired:
        for worker, port in enumerate(ports):
            priority = "high" if worker < WORKERS // 2 else "low"
            options_of_one = ("--priority", priority, "--health-port", str(port))
            hired.start(f"worker-{worker}", (*_CONSUMER, *options_of_one))
        time.sleep(_SETTLING_SECONDS)
        run_command(_accepting_steadily(ground, options), ground.environment)
        if not count_queued(ground.database):
            raise BenchmarkFailed("LOW ran dry before the urgent ones had come")
        wait_until_delivered(ground, hired)
        waits = [_waits_of_high(port) for port in ports[: WORKERS // 2]]
    calls = provider.take_calls()
    _check(ground, calls, floor=floor, number=low + high)
    in_time, all_of_them = (sum(each) for each in zip(*waits, strict=True))
    if all_of_them != high:
        raise BenchmarkFailed(f"{high} urgent ones, {all_of_them} turns")
    return {
        "high_in_time": in_time / all_of_them,
        "most_in_a_second_beside_high": most_in_a_second([each.at for each in calls]),
    }


def _waits_of_high(port: int) -> tuple[float, float]:
    """Return how many turns came in time, and how many there were."""
    in_time = count = 0.0
    for family in text_string_to_metric_families(fetch(port, "/metrics")):
        for sample in family.samples:
            if sample.labels.get("priority") != "high":
                continue
            if sample.name == "notify_turn_wait_seconds_count":
                count = sample.value
            elif sample.labels.get("le") == str(HIGH_WITHIN_SECONDS):
                in_time = sample.value
    return in_time, count


def _asked(ground: Ground) -> int:
    """Count what clients have asked of Valkey; a script's own calls are not theirs."""
    with Redis.from_url(ground.environment["REDIS_URL"]) as valkey:
        stats: Mapping[str, Mapping[str, int]] = valkey.info("commandstats")
    return sum(
        known["calls"]
        for name, known in stats.items()
        if name.removeprefix("cmdstat_") not in _BY_SCRIPTS
    )


def _accepting_steadily(ground: Ground, options: Namespace) -> list[str]:
    call = (
        "from benchmarks.backlog import accept_steadily;"
        f" accept_steadily(key={secrets.token_hex(8)!r}, seconds={options.seconds},"
        f" per_second={options.high_per_second}, people={ground.people})"
    )
    return [*MANAGE, "shell", "--no-imports", "--command", call]


def _check(ground: Ground, calls: Sequence[Call], *, floor: Any, number: int) -> None:
    received = [call.delivery_id for call in calls]
    check_delivered(ground.database, floor=floor, received=received, number=number)


def _even(number: float) -> int:
    """Two processes accept half of it each."""
    return 2 * int(number / 2)
