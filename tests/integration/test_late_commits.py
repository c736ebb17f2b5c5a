"""A row that commits long after it was due is found, on both transports.

A floor leaves it out meanwhile: it was not there when all that was due had been taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event
from uuid import UUID

import psycopg
import pytest
from django.db import connection, transaction

from foundation.statements import server_cursor
from notifications.dispatch.judging import retry_windows
from notifications.outbox import LANES, Lane
from notifications.relay.publishing import Dates, Pace, Relay
from notifications.transitions import begin_sending
from notifications.transport.base import Room, Subscription
from notifications.transport.due_floors import LOOK, TRAIL, DueFloors, Trail
from notifications.transport.postgres import PostgresTransport
from notifications.worker import Stop
from providers.channels import Channel
from tenants.categories import Priority
from tests.acme import query
from tests.conftest import owner_connection
from tests.database_clock import Clock
from tests.factories.notifications import Row, insert
from tests.kafka import wait_until

# Does one round; returns which rows it took.
Poll = Callable[[], set[UUID]]
Poller = Callable[[Trail], Poll]

LANE = Lane(Priority.NORMAL, Channel.EMAIL)
NEVER = 3600.0
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["postgres", "kafka"])
def poller(request: pytest.FixtureRequest, committed: None) -> Poller:
    """Return what makes a poller of NORMAL: a consumer's transport, or a relay."""
    if request.param == "postgres":
        return _transport
    request.getfixturevalue("kafka")
    return _relay


def _transport(trail: Trail) -> Poll:
    transport = PostgresTransport(
        Subscription(
            channels=tuple(Channel),
            priorities=(Priority.NORMAL,),
            lease=timedelta(hours=1),
        ),
        trail=trail,
    )
    room = Room(total=20, beside_high=20, by_lane=dict.fromkeys(LANES, 20))

    def poll() -> set[UUID]:
        transport.fetch(limit=20)
        with transaction.atomic(), server_cursor() as cursor:
            claimed = transport.claim(cursor, room=room)
            begin_sending(cursor, claimed, retry_windows=retry_windows())
        return {fence.delivery_id for fence in claimed}

    return poll


def _relay(trail: Trail) -> Poll:
    relay = Relay(
        priority=Priority.NORMAL,
        dates=Dates(publish_lease=timedelta(hours=1), horizon=timedelta(hours=1)),
        pace=Pace(),
        stop=Stop(),
        trail=trail,
    )

    def published() -> set[UUID]:
        rows = query("SELECT delivery_id FROM outbox WHERE published_at IS NOT NULL")
        return {row["delivery_id"] for row in rows}

    def poll() -> set[UUID]:
        before = published()
        relay.publish_due()
        return published() - before

    # Its topics are new, and the broker may not yet know them.
    first = insert(Row()).delivery_id
    wait_until(lambda: first in poll())
    return poll


@contextmanager
def inserting(row: Row) -> Iterator[tuple[UUID, Callable[[], None]]]:
    """Insert a row in a transaction that is open; also yield what commits it."""
    is_inserted, may_commit = Event(), Event()
    ids: list[UUID] = []

    def insert_slowly() -> None:
        try:
            with transaction.atomic():
                ids.append(insert(row).delivery_id)
                is_inserted.set()
                assert may_commit.wait(60)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(insert_slowly)

        def commit() -> None:
            may_commit.set()
            slow.result(60)

        try:
            assert is_inserted.wait(60)
            yield ids[0], commit
        finally:
            commit()


def test_floors_trail_by_a_minute_and_are_ignored_once_a_minute() -> None:
    assert timedelta(seconds=60) == TRAIL.far
    assert TRAIL.far_every_seconds <= 1.0
    assert TRAIL.ignored_every_seconds <= 60.0


def test_what_commits_90_s_late_is_found_when_floors_are_ignored(
    poller: Poller, clock: Clock
) -> None:
    poll = poller(Trail(ignored_every_seconds=0.5))
    poll()
    with inserting(Row()) as (late, commit):
        clock.advance(timedelta(seconds=90))
        other = insert(Row()).delivery_id
        assert poll() == {other}
        assert poll() == set()
        commit()

        wait_until(lambda: late in poll())


def test_what_commits_90_s_late_is_under_the_floor_until_then(
    poller: Poller, clock: Clock
) -> None:
    """Without this the floors would spare nobody anything."""
    poll = poller(Trail(far_every_seconds=0.0, ignored_every_seconds=NEVER))
    poll()
    with inserting(Row()) as (_, commit):
        clock.advance(timedelta(seconds=90))
        assert poll() == set()
        commit()

        assert poll() == set()


def test_what_commits_50_s_late_is_found_by_the_next_look_that_trails_by_a_minute(
    poller: Poller, clock: Clock
) -> None:
    poll = poller(Trail(far_every_seconds=0.5, ignored_every_seconds=NEVER))
    poll()
    with inserting(Row()) as (late, commit):
        clock.advance(timedelta(seconds=50))
        assert poll() == set()
        commit()

        wait_until(lambda: late in poll())


def test_what_commits_a_second_late_is_found_at_once(
    poller: Poller, clock: Clock
) -> None:
    clock.stop_at(clock.now())
    poll = poller(Trail(far_every_seconds=NEVER, ignored_every_seconds=NEVER))
    poll()
    with inserting(Row()) as (late, commit):
        clock.advance(timedelta(seconds=1))
        assert poll() == set()
        commit()

        assert poll() == {late}


def look(floors: DueFloors) -> set[Lane]:
    with server_cursor() as cursor:
        return floors.look(cursor)


@pytest.mark.django_db
def test_with_a_backlog_the_floor_is_its_first_row() -> None:
    insert(Row(due_in=timedelta(minutes=-5)))
    insert(Row(due_in=timedelta(minutes=-4)))
    floors = DueFloors(LANES)

    assert look(floors) == {LANE}

    (first,) = query("SELECT min(due_at) AS at FROM outbox")
    assert floors.floor(LANE) == first["at"]


@pytest.mark.django_db
def test_what_no_poll_took_stays_above_the_floor() -> None:
    """It is locked, its topic is missing or there is no room for it."""
    insert(Row(due_in=timedelta(minutes=-5)))
    floors = DueFloors(
        LANES, trail=Trail(far_every_seconds=NEVER, ignored_every_seconds=NEVER)
    )

    assert [look(floors) for _ in range(3)] == [{LANE}] * 3


@pytest.mark.django_db
def test_a_look_at_high_alone_leaves_the_others_their_turn_without_a_floor() -> None:
    floors = DueFloors(
        LANES, trail=Trail(far_every_seconds=NEVER, ignored_every_seconds=NEVER)
    )
    insert(Row(due_in=timedelta(minutes=-5)))

    with server_cursor() as cursor:
        assert floors.look(cursor, only_high=True) == set()
        assert floors.look(cursor) == {LANE}


@pytest.fixture
def old_snapshot(committed: None) -> Iterator[None]:
    """Hold a snapshot, so that no vacuum may clear away what is deleted meanwhile."""
    with owner_connection() as holding:
        holding.autocommit = False
        holding.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holding.execute("SELECT count(*) FROM outbox")
        yield


def test_beside_an_old_snapshot_a_look_steps_over_no_entry_of_long_ago(
    old_snapshot: None, clock: Clock, owner: psycopg.Connection
) -> None:
    owner.execute(
        "INSERT INTO outbox SELECT uuidv7(), 1, 1 + n % 4, n % 3, 0, app_now(), NULL"
        " FROM generate_series(1, 60000) n"
    )
    owner.execute("DELETE FROM outbox")
    clock.advance(timedelta(seconds=90))
    floors = DueFloors(LANES)
    assert look(floors) == set()

    without, found = (_pages(each) for each in (lambda _: BEGINNING, floors.floor))

    assert without > 500
    assert found <= 10 * len(LANES)


def _pages(floor: Callable[[Lane], datetime]) -> int:
    """Return how many pages a look reads with these floors."""
    with server_cursor() as cursor:
        cursor.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {LOOK}",
            [
                timedelta(0),
                [lane.priority.value for lane in LANES],
                [lane.channel.value for lane in LANES],
                [floor(lane) for lane in LANES],
                timedelta(0),
            ],
        )
        (row,) = cursor.fetchall()
    plan = row[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
