"""The rows that the relay benchmark makes, and the loop it compares with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from confluent_kafka import Producer

from benchmarks.baselines.seed_relay import relay_batch
from benchmarks.broker import PRODUCER, Kafka, Reader
from benchmarks.due_rows import (
    OUTBOX,
    SEED,
    SEED_TABLE,
    DueRows,
    begin,
    check_published,
    forget,
    recorded,
)
from benchmarks.failure import BenchmarkFailed
from notifications.management.sample import TEMPLATES, load_tenant
from notifications.outbox import LANES, Lane
from notifications.transport.kafka.topics import topic
from notifications.transport.records import decode
from providers.channels import Channel
from tenants.categories import Priority
from tests.acme import query
from tests.embedded_stack import NEEDS_KAFKA
from tests.kafka import is_real_broker, relaying, wait_until


@pytest.fixture
def broker() -> Kafka:
    if not is_real_broker():
        pytest.skip(NEEDS_KAFKA)
    return Kafka(bootstrap=os.environ["KAFKA_BOOTSTRAP_SERVERS"], pid=None)


@pytest.fixture
def seed_table(owner: psycopg.Connection) -> Iterator[None]:
    owner.execute(SEED_TABLE)
    yield
    owner.execute("DROP SCHEMA seed CASCADE")


def add(owner: psycopg.Connection, due: DueRows, *, rows: int) -> None:
    owner.execute(due.add, {"rows": rows, "template": TEMPLATES[0].name})


def is_drained(owner: psycopg.Connection, due: DueRows) -> bool:
    since = datetime.now(UTC) - timedelta(minutes=5)
    return owner.execute(due.unrecorded, {"since": since}).rowcount == 0


def test_due_rows_are_shared_out_evenly_and_break_no_invariant(committed, owner):
    load_tenant()

    add(owner, OUTBOX, rows=24)

    lanes = query("SELECT count(*) FROM outbox GROUP BY priority, channel")
    assert lanes == [{"count": 2}] * len(LANES)
    assert not is_drained(owner, OUTBOX)


def test_rows_that_nobody_published_fail_the_benchmark(committed, owner, database_env):
    load_tenant()
    floor = begin()
    add(owner, OUTBOX, rows=12)

    with pytest.raises(BenchmarkFailed, match="12 of 12 rows are not published"):
        recorded(database_env["DATABASE_URL"], OUTBOX, floor=floor)


def test_what_the_relay_publishes_is_recorded_and_read_once(
    committed, owner, database_env, kafka, broker
):
    load_tenant()
    reader, floor = Reader(broker, kafka.prefix), begin()
    add(owner, OUTBOX, rows=24)

    with relaying():
        wait_until(lambda: is_drained(owner, OUTBOX))

    rows = recorded(database_env["DATABASE_URL"], OUTBOX, floor=floor)
    check_published(rows, [decode(value).fence.delivery_id for value in reader.read()])
    assert len(rows) == 24
    assert reader.read() == []


def test_rows_are_forgotten_whole_and_older_ones_are_kept(
    committed, owner, database_env
):
    load_tenant()
    add(owner, OUTBOX, rows=12)
    wait_until(
        lambda: begin() > max(row["id"] for row in query("SELECT id FROM delivery"))
    )
    floor = begin()
    add(owner, OUTBOX, rows=24)

    forget(database_env["DATABASE_OWNER_URL"], OUTBOX, floor=floor)

    assert query("SELECT count(*) FROM outbox") == [{"count": 12}]


def test_seed_loop_publishes_500_rows_a_batch_the_high_ones_first(
    committed, owner, database_env, kafka, broker, seed_table
):
    topics = [topic(Lane(priority, Channel.EMAIL)) for priority in Priority]
    reader, floor = Reader(broker, kafka.prefix), begin()
    add(owner, SEED, rows=600)
    producer = Producer({**PRODUCER, "bootstrap.servers": broker.bootstrap})
    url = database_env["DATABASE_URL"]

    with psycopg.connect(url, options="-c search_path=seed", autocommit=True) as app:
        assert relay_batch(app, producer, topics=topics) == 500
        left = app.execute("SELECT priority FROM delivery WHERE status = 'PENDING'")
        assert left.fetchall() == [(Priority.LOW,)] * 100
        assert relay_batch(app, producer, topics=topics) == 100
        assert relay_batch(app, producer, topics=topics) == 0

    assert is_drained(owner, SEED)
    rows = recorded(url, SEED, floor=floor)
    check_published(rows, [UUID(value.decode()) for value in reader.read()])
    assert len(rows) == 600
