"""Rows that were published: noted, claimed, and made due again, each by its fence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foundation.statements import Cursor, server_cursor
from notifications.outbox import Lane, Poll, Taken, take
from notifications.published import (
    Unclaimed,
    claim_published,
    count_published,
    record_published,
    redate_published,
)
from notifications.transitions import Fence
from providers.channels import Channel
from tenants.categories import Priority
from tests.acme import query
from tests.database_clock import Clock
from tests.factories.notifications import Row, insert, outbox_of

pytestmark = pytest.mark.django_db

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
LANE = Lane(Priority.NORMAL, Channel.EMAIL)
PUBLISH_LEASE, LEASE = timedelta(seconds=4), timedelta(seconds=60)
HORIZON = timedelta(minutes=10)


@pytest.fixture
def cursor() -> Cursor:
    return server_cursor()


def taken(cursor: Cursor) -> list[Taken]:
    rows, _ = take(
        cursor, Poll(lane=LANE, floor=BEGINNING, limit=10, lease=PUBLISH_LEASE)
    )
    return rows


def published_at(fence: Fence) -> datetime | None:
    (row,) = query(
        "SELECT published_at FROM outbox WHERE delivery_id = %s", fence.delivery_id
    )
    at: datetime | None = row["published_at"]
    return at


def test_a_taken_row_keeps_its_fence_and_is_due_again_after_the_lease(
    cursor: Cursor, clock: Clock
) -> None:
    row = insert(Row())

    (first,) = taken(cursor)
    assert first.fence == row
    assert taken(cursor) == []

    clock.advance(PUBLISH_LEASE + timedelta(seconds=1))

    (second,) = taken(cursor)
    assert second.fence == first.fence
    assert second.token > first.token


def test_an_acknowledged_row_waits_for_its_horizon(
    cursor: Cursor, clock: Clock
) -> None:
    row = insert(Row())

    assert record_published(cursor, taken(cursor), horizon=HORIZON) == 1

    assert published_at(row) is not None
    clock.advance(HORIZON - timedelta(seconds=1))
    assert taken(cursor) == []
    clock.advance(timedelta(seconds=2))
    assert [again.fence for again in taken(cursor)] == [row]


def test_a_report_from_before_a_claim_changes_nothing(cursor: Cursor) -> None:
    row = insert(Row())
    late = taken(cursor)
    (claimed,) = claim_published(cursor, [row], lease=LEASE)
    before = outbox_of(row.delivery_id)

    assert record_published(cursor, late, horizon=HORIZON) == 0

    assert outbox_of(row.delivery_id) == before
    assert claimed.claim_count == 1


def test_a_report_from_before_another_take_changes_nothing(
    cursor: Cursor, clock: Clock
) -> None:
    row = insert(Row())
    late = taken(cursor)
    clock.advance(PUBLISH_LEASE + timedelta(seconds=1))
    taken(cursor)

    assert record_published(cursor, late, horizon=HORIZON) == 0
    assert published_at(row) is None


def test_a_claim_by_record_wins_once(cursor: Cursor) -> None:
    row, other = insert(Row()), insert(Row())
    record_published(cursor, taken(cursor), horizon=HORIZON)

    won = claim_published(cursor, [row, other], lease=LEASE)

    assert set(won) == {Fence(row.delivery_id, 1), Fence(other.delivery_id, 1)}
    assert claim_published(cursor, [row, other], lease=LEASE) == []
    assert published_at(row) is None


def test_published_rows_are_counted_until_they_are_claimed(cursor: Cursor) -> None:
    rows = [insert(Row()) for _ in range(3)]
    insert(Row(due_in=timedelta(minutes=5)))
    record_published(cursor, taken(cursor), horizon=HORIZON)

    def count(at_most: int = 10) -> int:
        return count_published(
            cursor, LANE, horizon=HORIZON, at_most=at_most, since=BEGINNING
        ).number

    assert (count(), count(at_most=2)) == (3, 2)
    claim_published(cursor, rows[:1], lease=LEASE)
    assert count() == 2


def test_the_next_count_begins_shortly_before_the_first_that_nobody_claimed(
    cursor: Cursor, clock: Clock
) -> None:
    clock.stop_at(clock.now())
    first = insert(Row())
    record_published(cursor, taken(cursor), horizon=HORIZON)
    clock.advance(timedelta(minutes=1))
    second = insert(Row())
    record_published(cursor, taken(cursor), horizon=HORIZON)

    def count(since: datetime = BEGINNING) -> Unclaimed:
        return count_published(cursor, LANE, horizon=HORIZON, at_most=10, since=since)

    _, first_due = outbox_of(first.delivery_id)
    _, second_due = outbox_of(second.delivery_id)
    margin = timedelta(seconds=5)
    assert count() == (2, first_due - margin)
    assert count(since=second_due - margin) == (1, second_due - margin)
    claim_published(cursor, [first, second], lease=LEASE)
    assert count() == (0, clock.now() + HORIZON - margin)


def test_published_rows_are_made_due_and_no_others(cursor: Cursor) -> None:
    published, claimed = insert(Row()), insert(Row())
    record_published(cursor, taken(cursor), horizon=HORIZON)
    claim_published(cursor, [claimed], lease=LEASE)
    scheduled = insert(Row(due_in=timedelta(minutes=5)))
    before = [outbox_of(each.delivery_id) for each in (claimed, scheduled)]

    assert redate_published(cursor, LANE, horizon=HORIZON, limit=10) == 1

    assert [row.fence for row in taken(cursor)] == [published]
    assert [outbox_of(each.delivery_id) for each in (claimed, scheduled)] == before
