from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import percentile
from benchmarks.load import Load, generate, put_load
from tests.stubs.http import Answer, HttpCall, HttpStub

IDENTITY = {"X-Benchmark-Server": "run1-42"}


@dataclass(frozen=True)
class Numbers:
    """Requests that hold nothing but their number, as their idempotency key."""

    def encode(self, number: int) -> bytes:
        head = f"POST / HTTP/1.1\r\nIdempotency-Key: {number}\r\n"
        return f"{head}Content-Length: 0\r\n\r\n".encode()


@pytest.fixture
def stub() -> Iterator[HttpStub]:
    with HttpStub() as server:
        server.decide = lambda call: Answer(202, {"id": 1}, IDENTITY)
        yield server


def load(stub: HttpStub, **options) -> Load:
    return Load(
        port=stub.port,
        identity="run1",
        requests=Numbers(),
        **{"connections": 4, "seconds": 0.3, "warm_up": 0.0, **options},
    )


def keys(stub: HttpStub) -> Counter[str]:
    return Counter(call.headers["idempotency-key"] for call in stub.calls)


def test_closed_loop_keeps_every_connection_busy_and_repeats_nothing(stub):
    outcome = generate(load(stub))

    assert stub.connections == 4
    assert len(outcome.accepted) == len(stub.calls) > 4
    assert set(keys(stub).values()) == {1}
    assert 0 < outcome.rate <= len(outcome.accepted) / 0.3
    assert outcome.servers == {"run1-42"}


def test_warm_up_counts_in_the_answers_and_not_in_the_rate(stub):
    outcome = generate(load(stub, seconds=0.1, warm_up=0.3))

    assert len(outcome.latencies) < len(outcome.accepted)


def test_one_in_so_many_requests_repeats_the_last_one_of_its_connection(stub):
    seen: set[str] = set()

    def answer(call: HttpCall) -> Answer:
        key = call.headers["idempotency-key"]
        replayed = {"Idempotent-Replayed": "true"} if key in seen else {}
        seen.add(key)
        return Answer(202, {"id": 1}, IDENTITY | replayed)

    stub.decide = answer

    outcome = generate(load(stub, replay_every=5))

    assert outcome.replayed == outcome.repeated == len(stub.calls) // 5
    assert len(outcome.accepted) == len(keys(stub))


def test_open_loop_sends_at_its_rate_however_long_answers_take(stub):
    outcome = generate(load(stub, rate=200.0, seconds=0.5))

    assert len(stub.calls) == len(outcome.accepted) == 100


def test_open_loop_takes_its_connections_in_turns(stub):
    """A server closes what idles for half a minute."""
    generate(load(stub, rate=100.0, seconds=0.2))

    turns = Counter(call.connection for call in stub.calls)
    assert sorted(turns.values()) == [5, 5, 5, 5]


def test_a_stall_shows_in_all_requests_that_were_due_meanwhile(stub):
    """Coordinated omission: a closed loop would have sent one request in that time."""
    stall = threading.Event()

    def answer(call: HttpCall) -> Answer:
        if call.headers["idempotency-key"] == "10":
            stall.wait(0.4)
        return Answer(202, {"id": 1}, IDENTITY)

    stub.decide = answer

    outcome = generate(load(stub, rate=200.0, seconds=0.5))

    assert len(outcome.latencies) == 100
    assert percentile(outcome.latencies, 0.5) > 0.1
    assert max(outcome.latencies) >= 0.39


@pytest.mark.parametrize("headers", [{}, {"X-Benchmark-Server": "run0-42"}])
def test_another_server_is_never_measured(stub, headers):
    stub.decide = lambda call: Answer(202, {"id": 1}, headers)

    with pytest.raises(BenchmarkFailed, match="not the server that was started"):
        generate(load(stub))


def test_answers_other_than_202_are_told_apart(stub):
    stub.decide = lambda call: Answer(409, {"title": "no"}, IDENTITY)

    outcome = generate(load(stub, seconds=0.1))

    assert outcome.accepted == []
    assert set(outcome.others) == {"409"}


def test_a_server_that_hangs_up_fails_the_benchmark(stub):
    stub.decide = lambda call: None
    stub.always(Answer(500, {}, IDENTITY | {"Content-Length": "nonsense"}))

    with pytest.raises(BenchmarkFailed, match="without a length"):
        generate(load(stub))


def test_a_server_that_is_not_there_fails_the_benchmark(stub):
    wanted = load(stub)
    stub.stop()

    with pytest.raises(BenchmarkFailed, match="no connection"):
        put_load(wanted)
