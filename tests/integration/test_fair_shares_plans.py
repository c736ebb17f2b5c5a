"""How PostgreSQL finds tenants' shares: by their index, whatever it believes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection

from foundation.statements import server_cursor
from notifications.due_tenants import DUE_TENANTS, due_tenants
from notifications.outbox import Lane, Poll, poll_statements
from notifications.transport.fair_shares import LOOKED_AT, _nothing_sorted
from providers.channels import Channel
from tenants.categories import Priority

LANE = Lane(Priority.NORMAL, Channel.EMAIL)
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
DUE, FUTURE = timedelta(hours=-1), timedelta(hours=1)
ADD = (
    "INSERT INTO outbox SELECT uuidv7(), 1 + n %% %(tenants)s, 1, 1, 0,"
    " app_now() + %(due_in)s + n * interval '1 ms', NULL"
    " FROM generate_series(1, %(rows)s) n"
)


def add(owner: psycopg.Connection, *, tenants: int, rows: int, due_in=DUE) -> None:
    owner.execute(ADD, {"tenants": tenants, "rows": rows, "due_in": due_in})


def many_tenants_with_rows_to_come(owner: psycopg.Connection) -> None:
    add(owner, tenants=5_000, rows=1_000_000, due_in=FUTURE)
    add(owner, tenants=20, rows=50_000)
    owner.execute("VACUUM ANALYZE outbox")


def one_tenant_alone(owner: psycopg.Connection) -> None:
    add(owner, tenants=1, rows=100_000)
    owner.execute("VACUUM ANALYZE outbox")


def thought_empty(owner: psycopg.Connection) -> None:
    add(owner, tenants=20, rows=50_000)
    owner.execute("DELETE FROM outbox")
    owner.execute("VACUUM (ANALYZE, TRUNCATE off) outbox")
    add(owner, tenants=20, rows=50_000)


@pytest.fixture(
    params=[many_tenants_with_rows_to_come, one_tenant_alone, thought_empty],
    ids=lambda fill: fill.__name__,
)
def filled(request: pytest.FixtureRequest, committed: None, owner: psycopg.Connection):
    fill: Callable[[psycopg.Connection], None] = request.param
    fill(owner)
    yield
    # These rows have no deliveries; the invariants would say so.
    owner.execute("TRUNCATE outbox")


TYPES = {
    "lease": "interval",
    "overdue_by": "interval",
    "floor": "timestamptz",
    "tenants": "bigint[]",
    "most": "int[]",
    "priority": "smallint",
    "channel": "smallint",
    "after": "bigint",
    "steps": "int",
}


def plans(statement: str, parameters: Mapping[str, Any]) -> list[str]:
    """Run a statement as a poll does; return its plans: custom and generic."""
    used = [name for name in parameters if f"%({name})s" in statement]
    text = statement % {name: f"${number}" for number, name in enumerate(used, 1)}
    types = ", ".join(TYPES[name] for name in used)
    places = ", ".join(["%s"] * len(used))
    found = []
    with _nothing_sorted(server_cursor()), connection.cursor() as cursor:
        cursor.execute(f"PREPARE poll ({types}) AS {text}")
        for mode in ("force_custom_plan", "force_generic_plan"):
            cursor.execute(f"SET LOCAL plan_cache_mode = {mode}")
            cursor.execute(
                f"EXPLAIN (ANALYZE, BUFFERS) EXECUTE poll ({places})",
                [parameters[name] for name in used],
            )
            found.append("\n".join(row[0] for row in cursor.fetchall()))
        cursor.execute("DEALLOCATE poll")
    return found


def pages(plan: str) -> int:
    """Return how many pages all scans of the tenants' index read together."""
    scans = re.findall(
        r"using outbox_by_tenant.*?Buffers: shared (?:hit=(\d+))? ?(?:read=(\d+))?",
        plan,
        re.S,
    )
    return sum(int(number) for scan in scans for number in scan if number)


def test_tenants_and_their_shares_are_found_by_a_step_each(filled):
    # Half of these tenants have no row or none that is due.
    shares = dict.fromkeys(range(1, 41), 10)
    poll = Poll(
        lane=LANE, floor=BEGINNING, limit=400, lease=timedelta(0), shares=shares
    )
    claim, take = (texts.in_shares for texts in poll_statements(LANE))
    for statement in (claim, take):
        for plan in plans(statement, poll.parameters):
            assert "Index Scan using outbox_by_tenant" in plan, plan
            assert "outbox_due" not in plan, plan
            assert "Sort" not in plan, plan
            assert pages(plan) <= 40 * 25, plan

    for plan in plans(DUE_TENANTS, look(BEGINNING, steps=LOOKED_AT)):
        assert plan.count("using outbox_by_tenant") == 2, plan
        assert "outbox_due" not in plan, plan
        assert "Sort" not in plan, plan
        assert pages(plan) <= LOOKED_AT * 10, plan


def look(floor: datetime, *, steps: int) -> Mapping[str, Any]:
    """Return the parameters of a look from the beginning."""
    return {
        "priority": LANE.priority.value,
        "channel": LANE.channel.value,
        "floor": floor,
        "overdue_by": timedelta(0),
        "after": 0,
        "steps": steps,
    }


def test_a_look_steps_over_what_is_gone_below_the_floor(committed, owner):
    """Whoever holds an old snapshot keeps index entries where they are."""
    owner.execute("TRUNCATE outbox")
    with psycopg.connect(owner.info.dsn, password=owner.info.password) as holder:
        holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT 1 FROM outbox LIMIT 1")
        add(owner, tenants=2, rows=20_000)
        owner.execute("DELETE FROM outbox")
        add(owner, tenants=2, rows=20, due_in=timedelta(seconds=-1))
        poll = Poll(
            lane=LANE,
            floor=datetime.now(UTC) - timedelta(minutes=1),
            limit=1,
            lease=timedelta(0),
        )
        with server_cursor() as cursor, _nothing_sorted(cursor):
            assert due_tenants(cursor, poll, after=None, steps=9).due == [1, 2]
        found = plans(DUE_TENANTS, look(poll.floor, steps=9))
    owner.execute("TRUNCATE outbox")

    # All 20,000 would be ten times that.
    assert max(map(pages, found)) <= 60, found
