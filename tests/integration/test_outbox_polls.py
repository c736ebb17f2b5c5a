"""The polls: what they take, what they leave, and how PostgreSQL finds it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.db import connection

from foundation.statements import server_cursor
from notifications.outbox import (
    LANES,
    Lane,
    Poll,
    poll_and_claim,
    poll_statements,
)
from notifications.transport.base import Room, Subscription
from notifications.transport.due_floors import LOOK, DueFloors
from notifications.transport.postgres import PostgresTransport
from providers.channels import Channel
from tenants.categories import Priority
from tests.factories.notifications import Row, insert, outbox_of

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
LEASE = timedelta(seconds=60)


def poll(priority=Priority.NORMAL, channel=Channel.EMAIL, limit=10, floor=BEGINNING):
    with server_cursor() as cursor:
        taken, _ = poll_and_claim(
            cursor,
            Poll(
                lane=Lane(priority, channel),
                floor=floor,
                limit=limit,
                lease=LEASE,
            ),
        )
    return [row.fence for row in taken]


@pytest.mark.django_db
def test_a_poll_claims_what_is_due_and_raises_its_fence():
    due = insert(Row())
    insert(Row(due_in=timedelta(seconds=5)))

    assert poll() == [(due.delivery_id, 1)]
    claim_count, due_at = outbox_of(due.delivery_id)
    assert claim_count == 1
    assert due_at > datetime.now(UTC) + LEASE / 2


@pytest.mark.django_db
def test_what_is_due_at_one_moment_is_taken_in_the_order_of_acceptance():
    ids = [insert(Row()).delivery_id for _ in range(9)]
    with connection.cursor() as cursor:
        # Written anew one by one, the way a night's messages are put off.
        for delivery_id in Random(1).sample(ids, len(ids)):
            cursor.execute(
                "UPDATE outbox SET due_at = now() WHERE delivery_id = %s",
                [delivery_id],
            )

    taken = [{fence.delivery_id for fence in poll(limit=3)} for _ in range(3)]

    in_order = sorted(ids)
    assert taken == [set(in_order[:3]), set(in_order[3:6]), set(in_order[6:])]


@pytest.mark.django_db
def test_a_poll_takes_one_class_only():
    insert(Row(priority=Priority.HIGH))
    insert(Row(channel=Channel.SMS))
    mine = insert(Row(priority=Priority.LOW, channel=Channel.PUSH))

    assert poll(Priority.LOW, Channel.PUSH) == [(mine.delivery_id, 1)]


@pytest.mark.django_db
def test_only_lanes_with_a_due_row_above_their_floor_are_worth_a_poll():
    floors = DueFloors(LANES)
    with server_cursor() as cursor:
        assert floors.look(cursor) == set()
        insert(Row(priority=Priority.HIGH, channel=Channel.SMS))
        insert(Row(priority=Priority.LOW, due_in=timedelta(seconds=5)))
        insert(Row(channel=Channel.PUSH, due_in=timedelta(minutes=-5)))

        assert floors.look(cursor) == {Lane(Priority.HIGH, Channel.SMS)}


@pytest.mark.django_db
def test_a_claimed_row_is_due_again_when_its_lease_is_over(clock):
    row = insert(Row())
    poll()
    assert poll() == []

    clock.advance(LEASE + timedelta(seconds=1))

    assert poll() == [(row.delivery_id, 2)]


@pytest.mark.django_db
def test_the_longest_due_go_first():
    late = insert(Row(due_in=timedelta(seconds=-1)))
    early = insert(Row(due_in=timedelta(seconds=-9)))

    assert [fence.delivery_id for fence in poll(limit=1)] == [early.delivery_id]
    assert [fence.delivery_id for fence in poll(limit=1)] == [late.delivery_id]


@pytest.mark.django_db
def test_low_gets_a_tenth_of_a_batch_that_normal_could_fill():
    for _ in range(30):
        insert(Row(priority=Priority.NORMAL))
        insert(Row(priority=Priority.LOW))
    transport = PostgresTransport(
        Subscription(
            channels=tuple(Channel),
            priorities=(Priority.NORMAL, Priority.LOW),
            lease=LEASE,
        )
    )
    assert transport.fetch(limit=20)
    with server_cursor() as cursor:
        room = Room(total=20, beside_high=20, by_lane=dict.fromkeys(LANES, 20))
        fences = transport.claim(cursor, room=room)

    assert len(fences) == 20
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT priority, count(*) FROM outbox WHERE claim_count = 1"
            " GROUP BY priority ORDER BY priority"
        )
        assert cursor.fetchall() == [(Priority.NORMAL, 18), (Priority.LOW, 2)]


@pytest.fixture
def million_future_rows(committed, owner):
    # What other tests rolled back is still in the index.
    owner.execute("TRUNCATE outbox")
    owner.execute(
        "INSERT INTO outbox SELECT uuidv7(), 1, 1 + n % 4, n % 3, 0,"
        " now() + (n || ' seconds')::interval + interval '1 hour', NULL"
        " FROM generate_series(1, 1000000) n"
    )
    owner.execute("ANALYZE outbox")
    yield
    # These rows have no deliveries; the invariants would say so.
    owner.execute("TRUNCATE outbox")


def test_every_poll_finds_what_is_due_by_index_among_a_million_future_rows(
    million_future_rows,
):
    """A bare volatile clock in the poll would filter all of them."""
    for lane in LANES:
        for texts in poll_statements(lane):
            plan = explain(texts.oldest)
            condition = re.search(r"Index Cond: (.*)", plan)
            assert "outbox_due" in plan
            assert condition
            assert "due_at <= " in condition[1]
            assert "app_now()" not in (re.search(r"Filter: (.*)", plan) or [""])[0]

    lane = Lane(Priority.NORMAL, Channel.EMAIL)
    plan = explain(poll_statements(lane)[0].oldest, "ANALYZE, BUFFERS")
    pages = re.search(
        r"Index Scan using outbox_due.*?Buffers: shared hit=(\d+)", plan, re.S
    )

    assert pages
    assert int(pages[1]) <= 10


def test_asking_which_lanes_are_due_steps_over_no_future_row(million_future_rows):
    priorities = [lane.priority.value for lane in LANES]
    channels = [lane.channel.value for lane in LANES]
    with server_cursor() as cursor:
        cursor.execute(
            f"EXPLAIN (ANALYZE, BUFFERS) {LOOK}",
            [
                timedelta(0),
                priorities,
                channels,
                [BEGINNING] * len(LANES),
                timedelta(0),
            ],
        )
        plan = "\n".join(row[0] for row in cursor.fetchall())

    pages = re.search(r"Index Only Scan using outbox_due.*?hit=(\d+)", plan, re.S)
    assert pages, plan
    assert int(pages[1]) <= 10 * len(LANES), plan


def explain(statement, options="COSTS OFF"):
    with server_cursor() as cursor:
        cursor.execute(
            f"EXPLAIN ({options}) {statement}",
            {
                "lease": LEASE,
                "floor": BEGINNING,
                "limit": 500,
                "overdue_by": timedelta(0),
            },
        )
        return "\n".join(row[0] for row in cursor.fetchall())
