from __future__ import annotations

import json
from argparse import ArgumentParser
from uuid import UUID

import pytest

from benchmarks.broker import fresh_kafka
from benchmarks.draining import Drained, total
from benchmarks.due_rows import check_published
from benchmarks.failure import BenchmarkFailed
from benchmarks.relay import add_options, run, verdict
from benchmarks.reporting import report

MEDIANS = {
    "platform": 15_000.0,
    "seed": 1_000.0,
    "seed_with_delay": 500.0,
    "seed_with_slow_ack": 400.0,
    "raw": 100_000.0,
    "platform_without_past": 15_000.0,
}
A, B, C = (UUID(int=number) for number in range(3))


@pytest.mark.parametrize(("ours", "ok"), [(15_000.0, True), (14_999.0, False)])
def test_relay_is_ok_where_it_is_fifteen_times_as_fast_as_the_loop(ours, ok):
    assert verdict(MEDIANS | {"platform": ours})["ok"] is ok


def test_neither_delay_nor_raw_rate_nor_the_past_decide():
    worse = {"seed_with_delay": 14_000.0, "raw": 1e9, "platform_without_past": 1e9}

    assert verdict(MEDIANS | worse)["ok"]


def test_slow_acknowledgement_is_waited_for_by_both():
    """Ours waits once for 500 rows: 2 us more for each."""
    found = verdict(MEDIANS | {"platform": 500_000.0})

    assert found["ratio_with_slow_ack"] == pytest.approx(250_000.0 / 400.0)


def test_last_line_has_what_every_benchmark_prints(capsys):
    report(goal="relay", **verdict(MEDIANS))

    line = json.loads(capsys.readouterr().out)
    assert {"goal", "value", "baseline", "ratio", "must", "aim", "ok"} <= set(line)
    assert line["baseline_with_delay"] == 500.0


def test_rounds_are_added_up_and_their_rate_is_that_of_all():
    found = total(
        [
            Drained(rows=100, seconds=1.0, cpu_seconds={"relay": 0.5, "kafka": None}),
            Drained(rows=300, seconds=1.0, cpu_seconds={"relay": 0.3, "kafka": 0.1}),
        ]
    )

    assert found.rate == 200.0
    assert found.cpu_seconds == {"relay": 0.8, "kafka": None}
    assert found.figures()["cpu_us_per_row"] == {"relay": 2000.0, "kafka": None}


@pytest.mark.parametrize(
    "records", [[A], [A, B, B], [A, C], []], ids=["lost", "twice", "other", "none"]
)
def test_records_that_are_not_the_rows_fail_the_benchmark(records):
    with pytest.raises(BenchmarkFailed, match="2 rows"):
        check_published({A, B}, records)


def test_records_may_come_in_any_order():
    check_published({A, B}, [B, A])


def test_no_lane_is_given_more_than_it_takes_without_consumers():
    """More would measure the window."""
    parser = ArgumentParser()
    add_options(parser)

    with pytest.raises(BenchmarkFailed, match="without consumers"):
        run(parser.parse_args(["--rows", "2001"]))


def test_a_broker_that_others_use_is_refused():
    """That of the tests is one: the environment names it."""
    with pytest.raises(BenchmarkFailed, match="starts its own"), fresh_kafka():
        pass
