"""The fixtures every other database test stands on."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import psycopg
import pytest
from django.db import connection

from foundation.database_clock import database_now
from tests.database_clock import Clock


def test_tests_run_as_app_on_a_database_of_their_own(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_database()")
        user, database = cursor.fetchone()

    assert user == "app"
    assert database.startswith("test_notifications_")


def test_clock_moves_the_time_of_the_database(db: None, clock: Clock) -> None:
    before = database_now()

    clock.advance(timedelta(days=2))

    assert timedelta(days=2) <= database_now() - before < timedelta(days=2, minutes=1)
    assert clock.now() - before >= timedelta(days=2)


def test_clock_stays_usable_as_an_index_condition(owner: psycopg.Connection) -> None:
    plan = owner.execute(
        "EXPLAIN SELECT FROM pg_class WHERE oid > extract(epoch FROM app_now())::int"
    ).fetchone()

    assert plan is not None
    found = owner.execute(
        "SELECT provolatile FROM pg_proc WHERE proname = 'app_now'"
    ).fetchone()
    assert found == ("s",)


@pytest.mark.parametrize("round_number", [1, 2])
def test_committed_rows_are_gone_in_the_next_test(
    committed: None, round_number: int
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM django_session")
        assert cursor.fetchone() == (0,)
        cursor.execute(
            "INSERT INTO django_session VALUES (%s, '', app_now())", [str(round_number)]
        )


def test_child_process_reaches_the_test_database(
    database_env: dict[str, str],
) -> None:
    program = (
        "import os, psycopg;"
        "row = psycopg.connect(os.environ['DATABASE_URL']).execute("
        "'SELECT current_user, current_database()').fetchone(); print(*row)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=database_env,
        capture_output=True,
        text=True,
        check=True,
    )

    user, database = done.stdout.split()
    assert user == "app"
    assert database.startswith("test_notifications_")
