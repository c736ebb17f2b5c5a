"""What is found by fence is found row by row, whatever PostgreSQL believes of the
outbox: it may have been empty when a vacuum last looked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import psycopg
import pytest

from foundation.statements import Cursor, server_cursor
from notifications.outbox import (
    Lane,
    Poll,
    Redate,
    Taken,
    delete,
    lock,
    lock_owned,
    redate,
    take,
)
from notifications.published import claim_published, record_published
from providers.channels import Channel
from tenants.categories import Priority

ROWS, BATCH = 24_000, 100
# So many that both indexes are equally high: to the planner a tie.
GONE = 150_000
ADD_ROWS = (
    "INSERT INTO outbox SELECT uuidv7(), 1, 2, 1, 0,"
    " now() - n * interval '1 millisecond', NULL"
    " FROM generate_series(1, %s) n"
)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def taken(committed: None, owner: psycopg.Connection) -> Generator[list[Taken]]:
    """Take rows of an outbox that is thought to be empty."""
    owner.execute(ADD_ROWS, [GONE])
    owner.execute("DELETE FROM outbox")
    owner.execute("VACUUM (ANALYZE, TRUNCATE off) outbox")
    owner.execute(ADD_ROWS, [ROWS])
    poll = Poll(
        lane=Lane(Priority.NORMAL, Channel.SMS),
        floor=datetime(2000, 1, 1, tzinfo=UTC),
        limit=BATCH,
        lease=MINUTE,
    )
    rows, _ = take(server_cursor(), poll)
    yield rows
    # These rows have no deliveries; the invariants would say so.
    owner.execute("TRUNCATE outbox")


def delete_all(cursor: Cursor, rows: list[Taken]) -> int:
    delete(cursor, [row.delivery_id for row in rows])
    return len(rows)


BY_FENCE: Mapping[str, Callable[[Cursor, list[Taken]], object]] = {
    "record_published": lambda cursor, rows: record_published(
        cursor, rows, horizon=MINUTE
    ),
    "claim_published": lambda cursor, rows: len(
        claim_published(cursor, [row.fence for row in rows], lease=MINUTE)
    ),
    "lock_owned": lambda cursor, rows: len(
        lock_owned(cursor, [row.fence for row in rows])
    ),
    "delete": delete_all,
    "lock": lambda cursor, rows: len(lock(cursor, [row.delivery_id for row in rows])),
    "redate": lambda cursor, rows: len(
        redate(cursor, [Redate(delivery_id=row.delivery_id) for row in rows])
    ),
}


@pytest.mark.parametrize("name", BY_FENCE)
def test_a_batch_is_not_compared_with_every_row(taken: list[Taken], name: str) -> None:
    explaining = Explaining()

    assert BY_FENCE[name](cast("Cursor", explaining), taken) == BATCH
    assert explaining.rows_handled < ROWS
    # By outbox_due it would skip from date to date, and handle no row that it skips.
    assert explaining.pages < ROWS


class Explaining:
    """A cursor that has each statement explained, and undone, before it runs it."""

    def __init__(self) -> None:
        self._cursor = server_cursor()
        self.rows_handled = 0.0
        self.pages = 0

    def execute(self, statement: str, parameters: object) -> None:
        """Run the statement; count the rows that its plan handles."""
        self._cursor.execute("BEGIN")
        self._cursor.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}",
            cast("Any", parameters),
        )
        ((plan,),) = self._cursor.fetchall()
        self._cursor.execute("ROLLBACK")
        self.rows_handled = _rows_handled(plan[0]["Plan"])
        self.pages = plan[0]["Plan"]["Shared Hit Blocks"]
        self._cursor.execute(statement, cast("Any", parameters))

    def __getattr__(self, name: str) -> object:
        return getattr(self._cursor, name)


def _rows_handled(node: dict[str, Any]) -> float:
    rows = node["Actual Rows"]
    rows += sum(count for key, count in node.items() if key.startswith("Rows Removed"))
    below = sum(_rows_handled(each) for each in node.get("Plans", ()))
    return float(node["Actual Loops"] * rows + below)
