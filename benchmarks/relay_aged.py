"""Goal `relay-aged`: the relay beside ten million finished rows, and an old snapshot.

The same relay, process and rows as in `relay`: on a database without a past, on one
with it, and there again after minutes of churn that no vacuum could clear away, since a
transaction held its snapshot; that once more without floors under its polls.
"""

from __future__ import annotations

import json
import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg

from benchmarks.aged_rows import add_finished, count_finished
from benchmarks.broker import fresh_kafka
from benchmarks.draining import Bench, Relay
from benchmarks.environment import describe
from benchmarks.failure import BenchmarkFailed
from benchmarks.ground import Ground, prepared_ground
from benchmarks.relay import Measure, measure, medians, platform_relay
from benchmarks.reporting import report
from devstack.platform import MANAGE
from devstack.processes import run as run_command
from notifications.relay.window import LEAST

MUST_AGED, AIM_AGED = 0.9, 0.95
MUST_PINNED, AIM_PINNED = 0.7, 0.95
MUST_POLL_MS, AIM_POLL_MS = 0.5, 0.2
_SHELL = (*MANAGE, "shell", "--no-imports", "--command")
_WITHOUT_FLOORS = (
    *_SHELL,
    "from benchmarks.baselines.relay_without_floors import relay; relay()",
)
_PINNED = """
SELECT age(backend_xmin), (SELECT n_dead_tup FROM pg_stat_user_tables
                            WHERE relname = 'outbox')
  FROM pg_stat_activity WHERE pid = %s
"""
_POLLS = 1_000
# Of the asked rate, that churn must have kept: else something else was measured.
_KEPT = 0.95


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--finished", type=int, default=10_000_000, help="deliveries")
    parser.add_argument("--pinned-seconds", type=float, default=600.0)
    parser.add_argument("--churn-per-second", type=int, default=2_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="a repetition")
    parser.add_argument("--rows", type=int, default=LEAST, help="of each lane, a round")


def run(options: Namespace) -> dict[str, Any]:
    """Measure; return the fields of the last line."""
    if options.rows > LEAST:
        raise BenchmarkFailed(f"without consumers a lane takes {LEAST} records")
    with (
        fresh_kafka() as kafka,
        prepared_ground(history=0, kafka=kafka) as aged,
        prepared_ground(history=0, kafka=kafka) as empty,
    ):
        known = {**describe(aged.database), "kafka": kafka.describe()}
        report(environment=known, options=vars(options))
        _age(aged, options)
        bench = Bench(kafka=kafka, ground=aged)
        relay = platform_relay("aged", options, bench)
        on_empty = replace(bench, ground=empty)
        sides: dict[str, Measure] = {
            "empty": partial(
                measure, platform_relay("empty", options, on_empty), on_empty
            ),
            "aged": _on_aged(relay, bench),
        }
        rates = medians(sides, repetitions=options.repetitions)
        polls = _empty_polls(aged, name="aged")
        with _old_snapshot(aged):
            _churn(aged, options)
            polls_pinned = _empty_polls(aged, name="pinned")
            rates |= medians(
                {
                    "pinned": _on_aged(replace(relay, name="pinned"), bench),
                    "without_floors": _on_aged(
                        replace(relay, name="without_floors", command=_WITHOUT_FLOORS),
                        bench,
                    ),
                },
                repetitions=options.repetitions,
            )
        aged.tidy()
        released = {"released": _on_aged(replace(relay, name="released"), bench)}
        rates |= medians(released, repetitions=options.repetitions)
    return verdict(rates, polls=polls, polls_pinned=polls_pinned)


Polls = Mapping[str, Mapping[str, float]]


def verdict(
    rates: Mapping[str, float], *, polls: Polls, polls_pinned: Polls
) -> dict[str, Any]:
    """Hold the figures against what they must be."""
    of_empty = rates["aged"] / rates["empty"]
    # Held against before and after, since machines have moods.
    unpinned = (rates["aged"] + rates["released"]) / 2
    ratio_pinned = rates["pinned"] / unpinned
    poll_ms = polls["with_floors"]["p50_ms"]
    return {
        "value": rates["aged"],
        "baseline": rates["empty"],
        "ratio": of_empty,
        "must": MUST_AGED,
        "aim": AIM_AGED,
        "pinned": rates["pinned"],
        "unpinned": unpinned,
        "ratio_pinned": ratio_pinned,
        "ratio_pinned_must": MUST_PINNED,
        "ratio_pinned_aim": AIM_PINNED,
        "ratio_without_floors": rates["without_floors"] / unpinned,
        "empty_poll_ms": poll_ms,
        "empty_poll_ms_must": MUST_POLL_MS,
        "empty_poll_ms_aim": AIM_POLL_MS,
        "empty_poll_pinned_ms": polls_pinned["with_floors"]["p50_ms"],
        "empty_poll_without_floors_ms": polls_pinned["without_floors"]["p50_ms"],
        "ok": of_empty >= MUST_AGED
        and ratio_pinned >= MUST_PINNED
        and poll_ms <= MUST_POLL_MS,
    }


def _on_aged(relay: Relay, bench: Bench) -> Measure:
    # Its finished rows have no audit trail.
    return partial(measure, relay, bench, is_past_whole=False)


def _age(ground: Ground, options: Namespace) -> None:
    """Add the past; whoever measures finds it vacuumed, analysed and on the disk."""
    started = time.monotonic()
    template = ground.template["name"]
    add_finished(ground.owner, deliveries=options.finished, template=template)
    ground.tidy()
    ground.checkpoint()
    finished = count_finished(ground.database)
    if finished < 0.99 * options.finished:
        raise BenchmarkFailed(f"{finished} deliveries are finished")
    report(part="aged", finished=finished, seconds=time.monotonic() - started)


@contextmanager
def _old_snapshot(ground: Ground) -> Iterator[None]:
    """Hold a snapshot and a transaction id meanwhile, as a forgotten session does."""
    with (
        psycopg.connect(ground.superuser) as holding,
        psycopg.connect(ground.superuser, autocommit=True) as looking,
    ):
        holding.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holding.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        holding.execute("SELECT pg_current_xact_id()")
        yield
        row = looking.execute(_PINNED, [holding.info.backend_pid]).fetchone()
        if row is None or None in row:
            raise BenchmarkFailed("the old snapshot was not held")
        report(part="old snapshot", transactions_since=row[0], dead_rows=row[1])


def _churn(ground: Ground, options: Namespace) -> None:
    """Let rows come and go; raise if the machine did not keep to the rate."""
    rate, template = options.churn_per_second, ground.template["name"]
    churned = _print_of(
        ground,
        f"from benchmarks.churn import churn; churn(seconds={options.pinned_seconds},"
        f" per_second={rate}, template={template!r})",
    )
    kept = churned["lives"] / churned["seconds"] / rate
    report(part="churn", **churned, kept=kept, load_average=os.getloadavg()[0])
    if kept < _KEPT:
        raise BenchmarkFailed(f"only {kept:.2f} of the churn was kept up")


def _empty_polls(ground: Ground, *, name: str) -> Polls:
    polls: Polls = _print_of(
        ground,
        f"from benchmarks.churn import print_empty_polls;"
        f" print_empty_polls(number={_POLLS})",
    )
    report(part=name, empty_polls=polls)
    return polls


def _print_of(ground: Ground, call: str) -> Any:
    return json.loads(run_command([*_SHELL, call], ground.environment))
