"""What is found by fence is found row by row, whatever PostgreSQL believes of the
outbox: it may have been empty when a vacuum last looked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest

from foundation.statements import Cursor, server_cursor
from notifications.order import find_followers, occupied_until, wake_next
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


# Two of each order key, the second behind the first.
ADD_PAIRS = (
    "INSERT INTO outbox SELECT uuidv7(), 1, 2, 1, 0, now(), NULL, n / 2, now()"
    f" FROM generate_series(0, {ROWS - 1}) n"
)


@pytest.fixture
def pairs(committed: None, owner: psycopg.Connection) -> Generator[dict[UUID, int]]:
    """Know some keys of an outbox that is thought to be empty."""
    owner.execute(ADD_PAIRS)
    owner.execute("DELETE FROM outbox")
    owner.execute("VACUUM (ANALYZE, TRUNCATE off) outbox")
    owner.execute(ADD_PAIRS)
    some = "SELECT delivery_id, order_key FROM outbox WHERE order_key < %s"
    yield dict(owner.execute(some, [BATCH // 2]).fetchall())
    owner.execute("TRUNCATE outbox")


BY_ORDER_KEY: Mapping[str, tuple[int, Callable[[Cursor, dict[UUID, int]], int]]] = {
    "find_followers": (
        BATCH // 2,
        lambda cursor, keys: len(find_followers(cursor, list(keys), ending=[])),
    ),
    "occupied_until": (
        BATCH // 2,
        lambda cursor, keys: len(occupied_until(cursor, set(keys.values()))),
    ),
    # They have no deliveries that could be waiting.
    "wake_next": (
        0,
        lambda cursor, keys: len(wake_next(cursor, list(set(keys.values())))),
    ),
}


@pytest.mark.parametrize("name", BY_ORDER_KEY)
def test_an_order_key_is_not_compared_with_every_row(
    pairs: dict[UUID, int], name: str
) -> None:
    explaining = Explaining()
    found, ask = BY_ORDER_KEY[name]

    assert ask(cast("Cursor", explaining), pairs) == found
    assert explaining.rows_handled < ROWS


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
