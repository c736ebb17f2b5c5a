"""Goal `relay`: due outbox rows to Kafka, against the first design's loop.

Each is a process that drains due rows, in turns, on one durable PostgreSQL and one
Apache Kafka, with acks=all. Beside them: producing such records and nothing else, and
the platform's relay on a database that has no past.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
from confluent_kafka import Producer

from benchmarks.baselines.seed_relay import topics_of
from benchmarks.broker import PRODUCER, Kafka, Reader, fresh_kafka
from benchmarks.draining import Bench, Relay, drain
from benchmarks.due_rows import OUTBOX, SEED, SEED_TABLE
from benchmarks.environment import describe
from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import spread
from benchmarks.ground import prepared_ground
from benchmarks.interleaving import interleave
from benchmarks.reporting import report
from devstack.platform import MANAGE
from foundation.ids import new_id
from notifications.relay.publishing import BATCH
from notifications.relay.window import LEAST
from notifications.transitions import Fence
from notifications.transport.records import Record, decode, encode
from providers.channels import Channel
from tenants.categories import Priority

MUST_RATIO, AIM_RATIO = 15.0, 40.0
MUST_OF_RAW, AIM_OF_RAW = 0.15, 0.35
MUST_OF_EMPTY, AIM_OF_EMPTY = 0.9, 0.95
LANES = len(Channel) * len(Priority)
SEED_DELAY_SECONDS = 0.2
# What a network and replicas add to an acknowledgement, at the least.
SLOW_ACK_SECONDS = 0.001
RAW_TOPIC, RAW_BATCH = "raw", 500
RAW_LINGER_MS = 2  # the platform's

# Measures one repetition of a side, the trial if it is number 0; returns rows a second.
Measure = Callable[[int], float]


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="of ours, a repetition")
    parser.add_argument(
        "--rows", type=int, default=LEAST, help="of each lane in each of our rounds"
    )
    parser.add_argument("--seed-rows", type=int, default=4_000, help="a repetition")
    parser.add_argument("--history", type=int, default=100_000, help="notifications")


def run(options: Namespace) -> dict[str, Any]:
    """Measure; return the fields of the last line."""
    if options.rows > LEAST:
        raise BenchmarkFailed(f"without consumers a lane takes {LEAST} records")
    with (
        fresh_kafka() as kafka,
        prepared_ground(history=options.history, kafka=kafka) as ground,
        prepared_ground(history=0, kafka=kafka) as empty,
    ):
        known = {**describe(ground.database), "kafka": kafka.describe()}
        report(environment=known, options=vars(options))
        bench = Bench(kafka=kafka, ground=ground)
        _add_seed(bench)
        sides: dict[str, Measure] = {
            "platform": _ours("platform", options, bench),
            **_baselines(options, bench),
            "raw": partial(_measure_raw, kafka, Reader(kafka, RAW_TOPIC)),
            "platform_without_past": _ours(
                "platform_without_past", options, replace(bench, ground=empty)
            ),
        }
        return verdict(medians(sides, repetitions=options.repetitions))


def verdict(medians: Mapping[str, float]) -> dict[str, Any]:
    """Hold the figures against what they must be; the ratio alone is the gate."""
    ours, baseline = medians["platform"], medians["seed"]
    ratio = ours / baseline
    # A slow acknowledgement is waited for once a batch, and here in no other's shadow.
    ours_slow = 1 / (1 / ours + SLOW_ACK_SECONDS / BATCH)
    return {
        "value": ours,
        "baseline": baseline,
        "baseline_with_delay": medians["seed_with_delay"],
        "ratio": ratio,
        "must": MUST_RATIO,
        "aim": AIM_RATIO,
        "ratio_with_delay": ours / medians["seed_with_delay"],
        "ratio_with_slow_ack": ours_slow / medians["seed_with_slow_ack"],
        "of_raw": ours / medians["raw"],
        "of_raw_must": MUST_OF_RAW,
        "of_raw_aim": AIM_OF_RAW,
        "of_empty": ours / medians["platform_without_past"],
        "of_empty_must": MUST_OF_EMPTY,
        "of_empty_aim": AIM_OF_EMPTY,
        "ok": ratio >= MUST_RATIO,
    }


def medians(sides: Mapping[str, Measure], *, repetitions: int) -> dict[str, float]:
    """Try every side, then measure them in turns."""
    for measure in sides.values():
        measure(0)
    rates = interleave(
        list(sides.values()),
        lambda measure, repetition: measure(repetition),
        repetitions=repetitions,
    )
    spreads = dict(zip(sides, map(spread, rates), strict=True))
    for name, found in spreads.items():
        report(summary=name, **asdict(found))
    return {name: found.median for name, found in spreads.items()}


def platform_relay(name: str, options: Namespace, bench: Bench) -> Relay:
    """Return the platform's relay, that drains `options.rows` of every lane a round."""
    return Relay(
        name=name,
        command=[*MANAGE, "relay_outbox"],
        due=OUTBOX,
        rows=LANES * options.rows,
        rounds=options.rounds,
        reader=Reader(bench.kafka, f"{bench.ground.topic_prefix}deliveries."),
        identify=lambda value: decode(value).fence.delivery_id,
    )


def _ours(name: str, options: Namespace, bench: Bench) -> Measure:
    return partial(measure, platform_relay(name, options, bench), bench)


def _baselines(options: Namespace, bench: Bench) -> dict[str, Measure]:
    command = [sys.executable, "-m", "benchmarks.baselines.seed_relay"]
    seed = Relay(
        name="seed-relay",
        command=command,
        due=SEED,
        rows=options.seed_rows,
        rounds=1,
        reader=Reader(bench.kafka, f"{bench.ground.topic_prefix}notifications."),
        identify=lambda value: UUID(value.decode()),
    )
    variants = {
        "seed": [],
        "seed_with_delay": ["--delay", str(SEED_DELAY_SECONDS)],
        "seed_with_slow_ack": ["--ack-seconds", str(SLOW_ACK_SECONDS)],
    }
    return {
        name: partial(
            measure, replace(seed, name=name, command=[*command, *words]), bench
        )
        for name, words in variants.items()
    }


def measure(
    relay: Relay, bench: Bench, repetition: int, *, is_past_whole: bool = True
) -> float:
    """Let a relay drain; return rows a second. In the trial invariants are checked."""
    is_trial = repetition == 0
    if is_trial:
        relay = replace(relay, rounds=1)
    is_checked = is_trial and is_past_whole and relay.due is OUTBOX
    drained = drain(relay, bench, check_invariants=is_checked)
    report(side=relay.name, repetition=repetition, **drained.figures())
    return drained.rate


def _measure_raw(kafka: Kafka, reader: Reader, repetition: int) -> float:
    """Produce records like the platform's, and wait for the broker 500 by 500."""
    values = [encode(Record(Fence(new_id(), 0), 1)) for _ in range(LANES * LEAST)]
    producer = Producer(
        {**PRODUCER, "bootstrap.servers": kafka.bootstrap, "linger.ms": RAW_LINGER_MS}
    )
    # The first waits until the producer has its id from the broker, half a second even.
    first = encode(Record(Fence(new_id(), 0), 1))
    producer.produce(RAW_TOPIC, first)
    producer.flush()
    started = time.monotonic()
    for start in range(0, len(values), RAW_BATCH):
        for value in values[start : start + RAW_BATCH]:
            producer.produce(RAW_TOPIC, value)
        producer.flush()
    rate = len(values) / (time.monotonic() - started)
    if sorted(reader.read()) != sorted([first, *values]):
        raise BenchmarkFailed("what was produced is not what lies in the topic")
    report(side="raw", repetition=repetition, per_second=rate, rows=len(values))
    return rate


def _add_seed(bench: Bench) -> None:
    bench.kafka.make_topics([*topics_of(bench.ground.topic_prefix), RAW_TOPIC])
    with psycopg.connect(bench.ground.owner) as connection:
        connection.execute(SEED_TABLE)
    bench.ground.tidy()
