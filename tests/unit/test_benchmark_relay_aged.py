from __future__ import annotations

import json

import pytest

from benchmarks.relay_aged import verdict
from benchmarks.reporting import report

RATES = {
    "empty": 1_000.0,
    "aged": 900.0,
    "released": 1_100.0,
    "pinned": 700.0,
    "without_floors": 100.0,
}
POLLS = {
    "with_floors": {"p50_ms": 0.5, "p99_ms": 1.0},
    "without_floors": {"p50_ms": 400.0, "p99_ms": 900.0},
}


def judged(**changes):
    return verdict(RATES | changes, polls=POLLS, polls_pinned=POLLS)


def test_all_at_the_bounds_is_ok():
    found = judged()

    assert found["ok"]
    assert (found["ratio"], found["ratio_pinned"]) == (0.9, 0.7)
    assert found["ratio_without_floors"] == 0.1


@pytest.mark.parametrize("worse", [{"empty": 1_001.0}, {"pinned": 699.0}])
def test_a_rate_below_its_bound_is_not_ok(worse):
    assert not judged(**worse)["ok"]


def test_a_slow_empty_poll_is_not_ok_and_one_beside_the_old_snapshot_is_printed():
    slow = {**POLLS, "with_floors": {"p50_ms": 0.51, "p99_ms": 1.0}}

    assert not verdict(RATES, polls=slow, polls_pinned=POLLS)["ok"]
    found = verdict(RATES, polls=POLLS, polls_pinned=slow)
    assert found["ok"]
    assert found["empty_poll_pinned_ms"] == 0.51


def test_what_the_relay_makes_without_floors_does_not_decide():
    assert judged(without_floors=5_000.0)["ok"]


def test_last_line_has_what_every_benchmark_prints(capsys):
    report(goal="relay-aged", **judged())

    line = json.loads(capsys.readouterr().out)
    assert {"goal", "value", "baseline", "ratio", "must", "aim", "ok"} <= set(line)
