"""Whoever ends a delivery wakes the next of its order key, whatever happens meanwhile.

A wake-up that got lost would be made up for after ten minutes: nothing here waits for
that long, and the invariants name whoever sleeps with nobody before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from pytest_django.fixtures import Settings

from foundation.ids import parse_public_id
from foundation.statements import Cursor, server_cursor
from notifications import cancellation, order, outbox
from notifications.cancellation import Asker
from notifications.dispatch.judging import retry_windows
from notifications.dispatch.ordering import lock_keys
from notifications.dispatch.settling import Settlement, settle
from notifications.outbox import Lane, Poll, poll_and_claim
from notifications.retry_policy import NextStep
from notifications.statuses import DeliveryStatus
from notifications.transitions import begin_sending
from providers.channels import Channel
from tenants.categories import Priority
from tests.acme import Api, deliveries, query
from tests.kafka import is_all_finished, wait_until
from tests.racing import consumers, race, rounds, tell

LANE = Lane(Priority.NORMAL, Channel.EMAIL)


@pytest.fixture(autouse=True)
def in_order(settings: Settings) -> None:
    settings.ORDERED_CATEGORIES = ["transactional"]


def accept(api: Api, key: str, person: str = "usr_an", email: str = "") -> str:
    recipient = {"user_id": person, "email": email or f"{person}@example.com"}
    return api.accept(idempotency_key=key, recipient=recipient)


def delivery(notification_id: str) -> dict[str, Any]:
    (found,) = deliveries(notification_id)
    return found


def waits_for(api: Api, notification_id: str) -> str:
    (channel,) = api.standing(notification_id)["channels"]
    return str(channel["waiting_for"])


def make_due(notification_id: str, after: timedelta = timedelta(0)) -> None:
    query(
        "UPDATE outbox SET due_at = app_now() + %s WHERE delivery_id = %s RETURNING 1",
        after,
        delivery(notification_id)["id"],
    )


def cancel(cursor: Cursor, notification_id: str) -> None:
    asker = Asker(tenant_id=delivery(notification_id)["tenant_id"], actor="test")
    identifier = parse_public_id("ntf", notification_id)
    cancellation.cancel(cursor, asker=asker, notification_id=identifier)


@pytest.fixture
def start() -> Iterator[Callable[[Callable[[], object]], Future[object]]]:
    """Start a work in a thread, and return when it waits for an order key."""
    with ThreadPoolExecutor(1) as threads:

        def start_until_it_waits(work: Callable[[], object]) -> Future[object]:
            future = threads.submit(in_thread, work)
            wait_until(somebody_waits_for_a_key, seconds=10)
            return future

        yield start_until_it_waits


def somebody_waits_for_a_key() -> bool:
    waiting = query(
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND"
        " database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    return waiting != []


def test_a_claim_waits_for_an_end_that_leaves_its_row_alone(api, consume, start):
    first, second = accept(api, "first"), accept(api, "second")
    make_due(second)
    deadlocks = count_deadlocks()

    with transaction.atomic(), server_cursor() as cursor:
        order.lock_keys(cursor, [delivery(first)["order_key"]])
        outbox.lock(cursor, [delivery(first)["id"]])
        # It holds the second's row now, and has not found out yet that it is behind.
        claimed = start(consume)
        cancel(cursor, first)
    claimed.result(timeout=30)

    assert delivery(second)["status"] == "sent"
    assert count_deadlocks() == deadlocks


def test_an_end_waits_for_a_claim_and_wakes_whom_that_has_put_off(api, start):
    first, second = accept(api, "first"), accept(api, "second")
    make_due(first, timedelta(hours=1))
    make_due(second)

    with transaction.atomic(), server_cursor() as cursor:
        put_off_what_is_due(cursor)
        cancelled = start(lambda: api.cancel(first))
    assert cancelled.result(timeout=30).status_code == 200

    assert delivery(second)["reason"] == "next_in_order"
    assert waits_for(api, second) == "worker"


def test_a_submission_waits_for_an_end_and_then_for_nobody(api, start):
    first = accept(api, "first")

    with transaction.atomic(), server_cursor() as cursor:
        cancel(cursor, first)
        accepted = start(lambda: accept(api, "second"))

    assert waits_for(api, str(accepted.result(timeout=30))) == "worker"


def test_an_end_waits_for_a_submission_and_wakes_it(api, start, monkeypatch):
    first = accept(api, "first")
    accepting, go_on = threading.Event(), threading.Event()

    def occupied_until(*arguments: Any) -> Any:
        found = look(*arguments)
        accepting.set()
        assert go_on.wait(timeout=20)
        return found

    look = order.occupied_until
    monkeypatch.setattr(order, "occupied_until", occupied_until)
    with ThreadPoolExecutor(1) as threads:
        accepted = threads.submit(in_thread, lambda: accept(api, "second"))
        assert accepting.wait(timeout=20)
        cancelled = start(lambda: Api(Client(), api.headers).cancel(first))
        go_on.set()
        second = str(accepted.result(timeout=30))
    assert cancelled.result(timeout=30).status_code == 200

    assert delivery(second)["reason"] == "next_in_order"
    assert waits_for(api, second) == "worker"


def test_a_submission_that_waits_too_long_writes_nothing_and_may_come_again(api, owner):
    recipient = {"user_id": "usr_an", "email": "usr_an@example.com"}
    first = accept(api, "first")
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")

    with owner.transaction():
        key = delivery(first)["order_key"]
        owner.execute("SELECT pg_advisory_xact_lock(%s)", [key])
        refused = api.submit(idempotency_key="second", recipient=recipient)

    assert refused.status_code == 503
    assert query("SELECT count(*) FROM notification") == [{"count": 1}]
    assert waits_for(api, accept(api, "second")) == "order"


def in_thread(work: Callable[[], object]) -> object:
    try:
        return work()
    finally:
        connection.close()


def put_off_what_is_due(cursor: Cursor) -> None:
    """Claim as a consumer does, and find that somebody is before it."""
    poll = Poll(
        lane=LANE,
        floor=datetime(2000, 1, 1, tzinfo=UTC),
        limit=10,
        lease=timedelta(minutes=1),
    )
    taken, _ = poll_and_claim(cursor, poll)
    fences = [row.fence for row in taken]
    (begun,) = begin_sending(cursor, fences, retry_windows=retry_windows())
    lock_keys(cursor, [begun])
    assert order.find_followers(cursor, [begun.delivery_id], ending=[])
    step = NextStep(
        status=DeliveryStatus.PENDING,
        reason=order.REASON,
        delay=order.LOOKS_AGAIN_AFTER,
        counted=False,
    )
    settle(
        cursor,
        [
            Settlement(
                fence=fences[0],
                notification_id=begun.notification_id,
                tenant_id=begun.tenant_id,
                channel=Channel.EMAIL,
                priority=Priority.NORMAL,
                attempt=1,
                step=step,
            )
        ],
    )


@pytest.mark.parametrize(
    "races",
    [200, pytest.param(4_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])],
)
@pytest.mark.timeout(240)
def test_everybody_gets_his_turn_while_many_submit_cancel_and_send(
    api: Api, retry_soon: None, claim_by: str, races: int
) -> None:
    deadlocks = count_deadlocks()

    with consumers():
        for numbers in rounds(races):
            race(numbers, lambda handful: submit_and_cancel(api, handful))
            wait_until(is_all_finished, seconds=150)

    ends = {
        row["status"]: row["n"]
        for row in query("SELECT status, count(*) AS n FROM delivery GROUP BY status")
    }
    tell(f"{races:,} submitted in order, claims by {claim_by}: {ends}")
    assert ends["sent"] + ends["cancelled"] == races
    assert ends["cancelled"] >= races // 50
    assert count_deadlocks() == deadlocks


def submit_and_cancel(api: Api, numbers: Sequence[int]) -> list[str]:
    """Accept a handful for a few people, some of whom fail at first; cancel one."""
    mine = Api(Client(), api.headers)
    accepted = []
    for number in numbers:
        person = f"usr_{number % 7}"
        email = "transient+1@simulate.example" if number % 7 == 0 else ""
        accepted.append(accept(mine, f"race-{number}", person, email))
    # Now the oldest of them, now one that waits behind others.
    chosen = accepted[number // len(accepted) % len(accepted)]
    assert mine.cancel(chosen).status_code in {200, 409}
    return accepted


def count_deadlocks() -> int:
    (row,) = query(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    )
    return int(row["deadlocks"])
