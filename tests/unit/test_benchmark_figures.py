from __future__ import annotations

import json
import os
import time

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from benchmarks.accept import verdict
from benchmarks.cpu import tree_cpu_seconds
from benchmarks.environment import describe
from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import percentile, spread
from benchmarks.interleaving import interleave
from benchmarks.reporting import report
from benchmarks.submissions import submissions


def test_sides_are_measured_in_turns():
    order = []

    def measure(side: str, repetition: int) -> str:
        order.append(f"{side}{repetition}")
        return order[-1]

    results = interleave(["a", "b"], measure, repetitions=2)

    assert order == ["a1", "b1", "a2", "b2"]
    assert results == [["a1", "a2"], ["b1", "b2"]]


def test_spread_names_middle_quartiles_and_worst():
    found = spread([100.0, 900.0, 300.0, 200.0, 400.0])

    assert (found.median, found.lower, found.upper) == (300.0, 200.0, 400.0)
    assert found.worst == 100.0


def test_spread_of_one_repetition_is_that_one():
    assert spread([7.0]).lower == 7.0


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1.0), (0.5, 50.0), (0.99, 99.0), (0.999, 100.0)]
)
def test_percentile_is_a_value_that_was_measured(share, value):
    assert percentile([float(n) for n in range(100, 0, -1)], share) == value


@pytest.mark.parametrize(
    ("ours", "p99_ms", "ok"),
    [(300.0, 100.0, True), (299.0, 100.0, False), (300.0, 100.1, False)],
)
def test_accept_is_ok_where_both_musts_are_met(ours, p99_ms, ok):
    assert verdict(ours=ours, baseline=100.0, p99_ms=p99_ms)["ok"] is ok


def test_last_line_has_what_every_benchmark_prints(capsys):
    report(goal="accept", **verdict(ours=412.3456, baseline=100.0, p99_ms=12.0))

    line = json.loads(capsys.readouterr().out)
    assert {"goal", "value", "baseline", "ratio", "must", "aim", "ok"} <= set(line)
    assert line["ratio"] == 4.123


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="there is no /proc")
def test_processor_time_of_this_process_is_seen():
    before, used = tree_cpu_seconds(os.getpid()), time.process_time()
    while time.process_time() - used < 0.1:
        sum(range(1000))

    after = tree_cpu_seconds(os.getpid())

    assert before is not None
    assert after is not None
    assert after - before >= 0.08


def test_a_database_that_does_not_wait_for_the_disk_is_refused():
    url = make_conninfo(os.environ["DATABASE_URL"], options="-c synchronous_commit=off")
    with psycopg.connect(url):
        pass  # it is there; what follows is not for want of a server

    with pytest.raises(BenchmarkFailed, match="not durable"):
        describe(url)


@pytest.mark.parametrize("number", [0, 1, 4_999, 5_000, 123_456_789])
def test_a_submission_is_whole_http_and_the_same_every_time(number):
    made = submissions(
        port=8000,
        api_key="nk_live_x",
        key="run-",
        template={"name": "invoice_due", "version": 1, "variables": {"amount": "1"}},
        people=5_000,
    )

    head, _, body = made.encode(number).partition(b"\r\n\r\n")

    assert f"Content-Length: {len(body)}".encode() in head
    sent = json.loads(body)
    assert sent["idempotency_key"] == f"run-{number:010}"
    assert sent["recipient"] == {"user_id": f"usr_{number % 5_000:06}"}
    assert made.encode(number) == made.encode(number)
