from __future__ import annotations

import pytest

from benchmarks import isolation, overload, priority
from benchmarks.failure import BenchmarkFailed
from benchmarks.load import Outcome
from benchmarks.provider import Call
from foundation.ids import new_id

GOOD = {
    "others": 0.95,
    "high_ratio": 1.5,
    "found_seconds": 15.0,
    "refused": 0.05,
    "restored_seconds": 60.0,
    "memory_mb": 200.0,
}


@pytest.mark.parametrize("name", ["", *GOOD])
def test_isolation_is_ok_only_if_every_figure_is(name):
    worse = -0.01 if name == "others" else 0.01
    measured = GOOD | ({name: GOOD[name] + worse} if name else {})

    assert isolation.verdict(measured)["ok"] is not bool(name)


def test_capacity_is_found_when_calls_first_come_at_the_rate():
    calls = [Call(new_id(), 100 + n / 10) for n in range(50)]
    calls += [Call(new_id(), 105 + n / 100) for n in range(600)]

    assert isolation._seconds_until(calls, 100.0, 100.0) == 5.0


def measured(**changes: float) -> priority.Measured:
    fields = {"p50_ms": 100.0, "p99_ms": 300.0, "low_per_second": 1_500.0}
    return priority.Measured(**fields | changes)


@pytest.mark.parametrize(
    ("alone", "beside", "low_alone", "ok"),
    [
        (measured(p99_ms=100.0), measured(), 1_700.0, True),
        (measured(p99_ms=99.0), measured(), 1_700.0, False),
        (measured(), measured(p99_ms=301.0), 1_700.0, False),
        (measured(), measured(p50_ms=101.0), 1_700.0, False),
        (measured(), measured(low_per_second=1_499.0), 1_700.0, False),
        (measured(), measured(), 1_770.0, False),
    ],
)
def test_priority_is_ok_only_if_every_figure_is(alone, beside, low_alone, ok):
    found = priority.verdict(alone=alone, beside=beside, low_alone=low_alone)

    assert found["ok"] is ok


def test_a_message_that_was_never_called_fails_the_measurement():
    with pytest.raises(BenchmarkFailed, match="1 of 1"):
        priority.waits_of([new_id()], [], per_second=1.0)


OVERLOAD = {"goodput": 0.9, "p99_ms": 1000.0, "refused": {"high": 0}}


@pytest.mark.parametrize(
    ("changes", "ok"),
    [
        ({}, True),
        ({"goodput": 0.89}, False),
        ({"p99_ms": 1001.0}, False),
        ({"refused": {"high": 1}}, False),
    ],
)
def test_overload_is_ok_only_if_every_figure_is(changes, ok):
    assert overload.verdict(OVERLOAD | changes)["ok"] is ok


def test_an_overload_counts_what_was_accepted_until_the_last_answer():
    outcome = Outcome(
        latencies=[0.1] * 80,
        refused=dict.fromkeys((7, 8, 13, 20), 0.02),
        seconds=8.0,
        elapsed=10.0,
    )

    found = overload.figures(outcome, maximum=10.0)

    assert found["goodput"] == pytest.approx(0.8)
    assert found["refused"] == {"high": 1, "normal": 1, "low": 2}
    assert found["refused_p99_ms"] == pytest.approx(20.0)
