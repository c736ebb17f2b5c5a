from __future__ import annotations

import pytest

from benchmarks.deliver import verdict
from benchmarks.memory import Memory, summarise


def memory(*, peak_mb: float = 150.0, growth: float = 1.0) -> Memory:
    return Memory(peak_mb=peak_mb, warm_mb=peak_mb, growth=growth, deliveries=1)


@pytest.mark.parametrize(
    ("changes", "ok"),
    [
        ({}, True),
        ({"kafka": 799.0}, False),
        ({"procrastinate": 101.0}, False),
    ],
)
def test_deliver_is_ok_where_the_slower_transport_beats_the_faster_baseline(
    changes, ok
):
    medians = {"postgres": 900.0, "kafka": 800.0, "celery": 100.0, "procrastinate": 9.0}

    found = verdict(
        medians=medians | changes, whole_life=9_000.0, memories=[memory(), memory()]
    )

    assert found["ok"] is ok


@pytest.mark.parametrize(
    ("taken", "ok"),
    [
        (memory(peak_mb=200.0, growth=1.05), True),
        (memory(peak_mb=200.1), False),
        (memory(growth=1.051), False),
    ],
)
def test_deliver_is_not_ok_where_any_side_takes_too_much_memory(taken, ok):
    medians = {"postgres": 900.0, "kafka": 900.0, "celery": 100.0, "procrastinate": 9.0}

    found = verdict(medians=medians, whole_life=9_000.0, memories=[memory(), taken])

    assert found["ok"] is ok


def test_memory_is_compared_with_the_first_look_after_a_minute():
    samples = [
        (5.0, {"a": 50.0, "b": 90.0}),
        (65.0, {"a": 100.0, "b": 100.0}),
        (120.0, {"a": 130.0, "b": 80.0}),
        (300.0, {"a": 110.0, "b": 100.0}),
    ]

    found = summarise(samples, deliveries=7)

    assert found == Memory(peak_mb=130.0, warm_mb=100.0, growth=1.1, deliveries=7)
