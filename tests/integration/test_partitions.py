"""Partitions are made ahead, by a role that owns none of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial

import psycopg
import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from foundation.database_clock import database_now
from foundation.ids import floor_id
from notifications import tasks
from notifications.partitions import MONTHS_AHEAD, make_partitions
from tests.acme import query, run_together

PARENTS = ["audit_event", "delivery", "notification", "notification_content"]
LEAVES = """
SELECT c.oid, c.relname AS leaf, inhparent::regclass::text AS parent,
       pg_get_expr(c.relpartbound, c.oid) AS bounds, c.reloptions AS options
  FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
  JOIN partitioned_table ON parent = inhparent::regclass::text
 WHERE c.relkind = 'r' ORDER BY leaf
"""


def months_from_now(first: int, last: int) -> list[date]:
    now = database_now()
    numbers = [now.year * 12 + now.month - 1 + n for n in range(first, last + 1)]
    return [date(number // 12, number % 12 + 1, 1) for number in numbers]


def leaf_names() -> set[str]:
    return {row["leaf"] for row in query(LEAVES)}


def names(months: list[date]) -> set[str]:
    return {f"{parent}_p{month:%Y_%m}" for parent in PARENTS for month in months}


@pytest.fixture
def new_leaves_dropped(committed, owner) -> Iterator[None]:
    before = leaf_names()
    yield
    for leaf in leaf_names() - before:
        owner.execute(f"DROP TABLE {leaf}")


def test_migrations_made_this_month_its_neighbours_and_the_next_three(db):
    assert leaf_names() == names(months_from_now(-1, MONTHS_AHEAD))


@pytest.mark.django_db
def test_what_is_missing_is_made_once():
    assert make_partitions() == []

    made = make_partitions(months_ahead=MONTHS_AHEAD + 2)

    months = months_from_now(MONTHS_AHEAD + 1, MONTHS_AHEAD + 2)
    assert sorted(made) == [(parent, month) for parent in PARENTS for month in months]
    assert make_partitions(months_ahead=MONTHS_AHEAD + 2) == []
    assert names(months) <= leaf_names()


@pytest.mark.django_db
def test_time_goes_on_and_so_do_the_months(clock, capsys):
    clock.advance(timedelta(days=62))
    months = set(months_from_now(-1, MONTHS_AHEAD))

    tasks.make_partitions()

    assert names(sorted(months)) <= leaf_names()
    call_command("make_partitions")
    assert capsys.readouterr().out == "0 made\n"


def test_several_at_once_make_each_leaf_once(new_leaves_dropped):
    ahead = MONTHS_AHEAD + 2
    results = run_together(*[partial(make_partitions, months_ahead=ahead)] * 4)

    made = [leaf for result in results for leaf in result]
    months = months_from_now(MONTHS_AHEAD + 1, ahead)
    assert sorted(made) == [(parent, month) for parent in PARENTS for month in months]


@pytest.mark.django_db
def test_months_follow_without_a_gap_and_without_a_default():
    make_partitions(months_ahead=14)
    bounds: dict[str, list[tuple[str, str]]] = {parent: [] for parent in PARENTS}
    for row in query(LEAVES):
        words = row["bounds"].split("'")
        assert len(words) == 5, row
        bounds[row["parent"]].append((words[1], words[3]))
    for known in bounds.values():
        known.sort()
        assert [end for _, end in known[:-1]] == [start for start, _ in known[1:]]
        assert len(known) == 16


@pytest.mark.django_db
def test_every_leaf_of_delivery_refuses_a_second_of_its_kind():
    make_partitions(months_ahead=MONTHS_AHEAD + 1)
    wanted = "(notification_id, channel, address_key)"

    leaves = [row for row in query(LEAVES) if row["parent"] == "delivery"]

    assert len(leaves) == MONTHS_AHEAD + 3
    for leaf in leaves:
        indexes = query(
            "SELECT pg_get_indexdef(indexrelid) AS definition FROM pg_index"
            " WHERE indrelid = %s AND indisunique AND indisvalid",
            leaf["oid"],
        )
        assert any(row["definition"].endswith(wanted) for row in indexes), leaf
        assert leaf["options"] == ["fillfactor=60"]


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 11, 30, 23, 59, 59, 999000, tzinfo=UTC),
        datetime(2026, 12, 1, tzinfo=UTC),
        datetime(2028, 2, 29, 12, 0, 0, 1000, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
    ],
)
def test_the_database_cuts_where_the_ids_are_cut(db, moment):
    assert query("SELECT uuid7_floor(%s) AS id", moment) == [{"id": floor_id(moment)}]


FORBIDDEN = [
    "CREATE TABLE mine (id int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE INDEX ON outbox (tenant_id)",
    "DROP TABLE outbox",
    "DROP FUNCTION app_now()",
    "ALTER TABLE outbox ADD COLUMN mine int",
    "ALTER TABLE audit_event DISABLE TRIGGER ALL",
    "DROP TRIGGER audit_event_append_only ON audit_event",
    "CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql"
    " AS 'SELECT now()'",
    "TRUNCATE outbox",
    "TRUNCATE notification CASCADE",
    "TRUNCATE audit_event",
    "UPDATE audit_event SET reason = 'x'",
    "DELETE FROM audit_event",
    "DELETE FROM audit_event WHERE false",
    "MERGE INTO audit_event a USING (SELECT 1) x ON false WHEN MATCHED THEN DELETE",
    "INSERT INTO partitioned_table VALUES ('tenant')",
    "UPDATE partitioned_table SET leaf_statements = ARRAY['DROP TABLE outbox']",
    "SET session_replication_role = replica",
    "SET ROLE {owner}",
    "ALTER ROLE {app} SUPERUSER",
    "SELECT make_partition('tenant', '2027-01-01')",
    "SELECT make_partition('outbox; DROP TABLE outbox', '2027-01-01')",
]
ON_A_LEAF = [
    "SELECT 1 FROM {leaf}",
    "INSERT INTO {leaf} SELECT * FROM {leaf}",
    "UPDATE {leaf} SET id = id",
    "DELETE FROM {leaf}",
    "TRUNCATE {leaf}",
    "DROP TABLE {leaf}",
    "ALTER TABLE {parent} DETACH PARTITION {leaf}",
]


def check_refused(statement: str) -> None:
    """Run a statement as the role `app`, which may not."""
    with (
        pytest.raises(DatabaseError) as refused,
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert isinstance(
        refused.value.__cause__,
        psycopg.errors.InsufficientPrivilege | psycopg.errors.RaiseException,
    ), refused.value


def test_the_role_that_runs_cannot_change_tables_or_the_trail(db, owner, subtests):
    """I12"""
    roles = {"owner": owner.info.user, "app": connection.settings_dict["USER"]}
    assert query("SELECT current_user AS name") == [{"name": roles["app"]}]
    for statement in FORBIDDEN:
        with subtests.test(msg=statement):
            check_refused(statement.format(**roles))


def test_the_role_that_runs_cannot_touch_a_leaf(db, subtests):
    """I12: neither those that were migrated nor those that it had made."""
    make_partitions(months_ahead=MONTHS_AHEAD + 1)
    for leaf in query(LEAVES):
        for statement in ON_A_LEAF:
            text = statement.format(leaf=leaf["leaf"], parent=leaf["parent"])
            with subtests.test(msg=text):
                check_refused(text)
