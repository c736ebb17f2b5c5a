"""Indexes are built beside whatever goes on, and again after an attempt that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from django.core.management import call_command
from django.db import connections
from django.db.migrations import RenameIndex
from django.db.migrations.loader import MigrationLoader

from notifications.migrations._indexes import AddIndex, RemoveIndex
from tests.conftest import owner_connection
from tests.kafka import wait_until
from tests.structure.source import APPS

DUE_IN_ORDER = "0004_due_in_order"
BY_TENANT = "0005_shares_of_tenants"
FOR_POLLS = "0007_due_for_polls_alone"
ORDER = "0009_order_index"
BEFORE = {
    DUE_IN_ORDER: "0003_dead_letter_provider",
    BY_TENANT: DUE_IN_ORDER,
    FOR_POLLS: "0006_lane_flow",
    ORDER: "0008_order",
}
# The name that each builds its index under, and the one it has at last.
BUILT = {
    DUE_IN_ORDER: ("outbox_due_in_order", "outbox_due"),
    BY_TENANT: ("outbox_by_tenant", "outbox_by_tenant"),
    FOR_POLLS: ("outbox_due_for_polls", "outbox_due"),
    ORDER: ("outbox_order", "outbox_order"),
}
# What waits for a snapshot, as a backup has one, and what for any transaction that has
# read the table.
SNAPSHOT, READER = "REPEATABLE READ", "READ COMMITTED"

Migrate = Callable[[str], None]

every_index = pytest.mark.parametrize("migration", BUILT)


@pytest.fixture(scope="module")
def _own_database(owner: psycopg.Connection) -> Iterator[str]:
    """A database that may be migrated back and forth: that of the run is in use."""
    name = f"{owner.info.dbname}_migrated"
    owner.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    yield name
    owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def migrate(_own_database, monkeypatch, django_db_blocker) -> Iterator[Migrate]:
    known = connections["owner"].settings_dict
    monkeypatch.setitem(known, "NAME", _own_database)
    # Shorter than in production, so that nobody waits long to see it exceeded.
    monkeypatch.setitem(known["OPTIONS"], "options", "-c lock_timeout=100ms")
    connections["owner"].close()

    def run(migration: str) -> None:
        try:
            call_command(
                "migrate", "notifications", migration, database="owner", verbosity=0
            )
            with connections["owner"].cursor() as cursor:
                cursor.execute("SHOW lock_timeout")
                assert cursor.fetchone() == ("100ms",)
        finally:
            connections["owner"].close()

    with django_db_blocker.unblock():
        yield run


@pytest.fixture
def watcher(migrate) -> Iterator[psycopg.Connection]:
    with owner_connection() as connection:
        yield connection


@contextmanager
def a_transaction(isolation: str) -> Iterator[None]:
    """Have one open that has read the outbox."""
    with owner_connection() as other:
        other.execute(f"BEGIN ISOLATION LEVEL {isolation}")
        other.execute("SELECT FROM outbox")
        yield


def is_valid(watcher: psycopg.Connection, index: str) -> bool | None:
    found = watcher.execute(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [index]
    ).fetchone()
    return None if found is None else bool(found[0])


def has_waited(watcher: psycopg.Connection, statement: str) -> bool:
    """Tell whether a statement has waited for a lock for five times its limit."""
    return (
        watcher.execute(
            "SELECT FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock' AND query LIKE %s"
            " AND query_start < clock_timestamp() - interval '0.5 s'",
            [f"{statement} INDEX CONCURRENTLY %"],
        ).fetchone()
        is not None
    )


@pytest.mark.parametrize(
    ("migration", "isolation", "statement"),
    [
        *((migration, SNAPSHOT, "CREATE") for migration in BUILT),
        (DUE_IN_ORDER, READER, "DROP"),
        (FOR_POLLS, READER, "DROP"),
    ],
)
def test_migrating_waits_for_as_long_as_another_transaction_lasts(
    migrate, watcher, migration, isolation, statement
):
    migrate(BEFORE[migration])

    with ThreadPoolExecutor(1) as threads, a_transaction(isolation):
        running = threads.submit(migrate, migration)
        wait_until(lambda: running.done() or has_waited(watcher, statement))
        assert not running.done(), running.exception()
    running.result()

    assert is_valid(watcher, BUILT[migration][1])


@every_index
def test_what_a_failed_attempt_has_left_is_replaced(migrate, watcher, migration):
    built, at_last = BUILT[migration]
    migrate(BEFORE[migration])
    watcher.execute("SET lock_timeout = '50ms'")
    with a_transaction(SNAPSHOT), pytest.raises(psycopg.errors.LockNotAvailable):
        watcher.execute(f"CREATE INDEX CONCURRENTLY {built} ON outbox (due_at)")
    assert is_valid(watcher, built) is False

    migrate(migration)

    assert is_valid(watcher, at_last)
    if built != at_last:
        assert is_valid(watcher, built) is None


@every_index
def test_what_was_done_but_not_recorded_is_done_again(migrate, watcher, migration):
    migrate(BEFORE[migration])
    migrate(migration)
    watcher.execute("DELETE FROM django_migrations WHERE name = %s", [migration])

    migrate(migration)

    assert is_valid(watcher, BUILT[migration][1])


def test_columns_that_cannot_be_had_leave_nothing_behind(migrate, watcher):
    migrate(FOR_POLLS)

    with owner_connection() as other:
        other.execute("BEGIN")
        other.execute("SELECT FROM delivery")
        with pytest.raises(Exception, match="lock timeout"):
            migrate("0008_order")

    migrate("0008_order")


def test_migrations_without_a_transaction_can_be_repeated():
    """They hold nothing but indexes, in operations that may be taken twice."""
    loose = {
        migration.name: {type(each) for each in migration.operations}
        for (app, _), migration in MigrationLoader(None).disk_migrations.items()
        if app in APPS and not migration.atomic
    }

    assert loose.keys() == BUILT.keys()
    for name, kinds in loose.items():
        assert kinds <= {AddIndex, RemoveIndex, RenameIndex}, name
