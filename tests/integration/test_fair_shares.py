"""Fair shares between tenants: who gets how much of a backlog, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import transaction

from foundation.statements import server_cursor
from notifications import outbox
from notifications.due_tenants import due_tenants
from notifications.outbox import Lane, Poll, Taken
from notifications.transport import fair_shares
from notifications.transport.base import Room, Subscription
from notifications.transport.due_floors import Trail
from notifications.transport.fair_shares import FairShares
from notifications.transport.postgres import PostgresTransport
from providers.channels import Channel
from tenants.categories import Priority
from tests.acme import query, run_together

LANE = Lane(Priority.NORMAL, Channel.EMAIL)
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
LEASE = timedelta(minutes=1)
A, B, C = 1, 2, 3
ADD = (
    "INSERT INTO outbox SELECT uuidv7(), %(tenant)s, 1, 1, 0,"
    " app_now() + %(due_in)s + n * interval '1 ms', NULL"
    " FROM generate_series(1, %(number)s) n RETURNING delivery_id"
)


@pytest.fixture(params=[outbox.take, outbox.poll_and_claim], ids=["relay", "consumer"])
def ask(request: pytest.FixtureRequest) -> fair_shares.Ask:
    """Poll as the relay does, and as a consumer without one."""
    poll: fair_shares.Ask = request.param
    return poll


@pytest.fixture(autouse=True)
def always_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for tenants in every turn, however long the last look took."""
    monkeypatch.setattr(fair_shares, "REST", 0)


@pytest.fixture
def poller(db: None, ask: fair_shares.Ask) -> Callable[..., list[Taken]]:
    """Return a poller that takes `limit` rows a turn."""
    shares = FairShares()

    def turn(limit: int = 500, floor: datetime = BEGINNING) -> list[Taken]:
        poll = Poll(lane=LANE, floor=floor, limit=limit, lease=LEASE)
        return shares.poll(server_cursor(), poll, ask)[0]

    return turn


def add(tenant: int, number: int, *, due_in: int = -3600) -> list[object]:
    """Add rows that are due a millisecond after each other; return their ids."""
    with server_cursor() as cursor:
        cursor.execute(
            ADD,
            {
                "tenant": tenant,
                "number": number,
                "due_in": timedelta(seconds=due_in),
            },
        )
        return [row[0] for row in cursor.fetchall()]


def by_tenant(rows: list[Taken]) -> Mapping[int, int]:
    return Counter(row.tenant_id for row in rows)


def count_looks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that grows with every look."""
    looks: list[object] = []

    def counted(*args, **named):
        looks.append(named)
        return due_tenants(*args, **named)

    monkeypatch.setattr(fair_shares, "due_tenants", counted)
    return looks


def test_tenants_get_equal_shares_of_a_backlog(poller):
    add(A, 4_000, due_in=-7200)
    add(B, 2_000)
    add(C, 2_000, due_in=-60)

    assert by_tenant(poller()) == {A: 500}
    taken: Counter[int] = Counter()
    for _ in range(6):
        rows = poller()
        assert len(rows) == 500
        taken.update(by_tenant(rows))

    assert taken == {A: 1_000, B: 1_000, C: 1_000}


def test_a_few_rows_are_taken_in_the_turn_behind_the_first_full_one(poller):
    add(A, 2_000)
    add(B, 3, due_in=-1)

    assert by_tenant(poller()) == {A: 500}
    assert by_tenant(poller()) == {A: 497, B: 3}


def test_a_few_rows_that_come_in_the_midst_of_a_backlog_are_taken_at_once(poller):
    add(A, 3_000)
    poller()
    assert by_tenant(poller()) == {A: 500}

    add(B, 3, due_in=-1)

    assert by_tenant(poller()) == {A: 497, B: 3}


def test_what_some_do_not_need_is_shared_by_the_others(poller):
    add(A, 2_000, due_in=-7200)
    add(B, 2_000)
    for tenant in range(10, 30):
        add(tenant, 5)
    poller()

    taken = by_tenant(poller())

    assert taken[A] == taken[B] == 200
    assert {taken[tenant] for tenant in range(10, 30)} == {5}


def test_each_tenant_has_its_own_oldest_taken_first(poller):
    add(A, 600, due_in=-7200)
    late, early, ties = add(B, 2, due_in=-60), add(B, 2, due_in=-3600), add(C, 9)
    with server_cursor() as cursor:
        cursor.execute("UPDATE outbox SET due_at = app_now() WHERE tenant_id = 3")
    poller()

    turns = [poller(limit=6) for _ in range(3)]

    mine = [[row.delivery_id for row in rows if row.tenant_id == B] for rows in turns]
    assert [set(each) for each in mine] == [set(early), set(late), set()]
    theirs = [{row.delivery_id for row in rows if row.tenant_id == C} for rows in turns]
    # In the third turn B has no rows left, and A and C have three each.
    assert theirs == [set(ties[:2]), set(ties[2:4]), set(ties[4:7])]


def test_what_does_not_divide_evenly_goes_to_another_each_turn(poller):
    for tenant in (A, B, C):
        add(tenant, 40)
    poller(limit=5)

    taken: Counter[int] = Counter()
    for _ in range(6):
        taken.update(by_tenant(poller(limit=5)))

    assert taken == {A: 10, B: 10, C: 10}


def test_more_tenants_than_one_turn_serves_or_looks_at_have_all_their_turns(poller):
    number = fair_shares.LOOKED_AT + fair_shares.SERVED // 2
    for tenant in range(1, number + 1):
        add(tenant, 30)
    for _ in range(10):
        poller(limit=60)

    # Five turns of fifty to each of 250.
    taken: Counter[int] = Counter()
    for _ in range(25):
        taken.update(by_tenant(poller(limit=50)))

    assert len(taken) == number
    assert max(taken.values()) - min(taken.values()) <= 1


def test_behind_tenants_whose_rows_lie_in_the_future_one_is_found_after_a_few_turns(
    poller,
):
    add(A, 5_000)
    for tenant in range(10, 10 + 5 * fair_shares.LOOKED_AT):
        add(tenant, 1, due_in=3600)
    last = 10_000
    add(last, 3, due_in=-1)
    poller()

    taken: Counter[int] = Counter()
    for _ in range(6):
        taken.update(by_tenant(poller()))

    assert taken == {A: 2_997, last: 3}


def test_a_turn_with_room_to_spare_ends_the_backlog(poller, monkeypatch):
    looks = count_looks(monkeypatch)
    add(A, 700)

    assert [len(poller()) for _ in range(4)] == [500, 200, 0, 0]
    assert len(looks) == 1


def test_looking_rests_for_many_times_as_long_as_it_took(poller, monkeypatch):
    looks = count_looks(monkeypatch)
    monkeypatch.setattr(fair_shares, "REST", 1_000_000)
    add(A, 4_000)
    add(B, 2_000)
    poller()

    # Meanwhile those that are known have their turns.
    assert [by_tenant(poller()) for _ in range(3)] == [{A: 250, B: 250}] * 3
    assert len(looks) == 1


def test_rows_under_the_floor_are_left_alone_in_a_backlog_too(poller):
    add(A, 1_500, due_in=-30)
    add(B, 5)
    floor = datetime.now(UTC) - timedelta(minutes=1)

    assert [by_tenant(poller(floor=floor)) for _ in range(2)] == [{A: 500}, {A: 500}]
    assert by_tenant(poller()) == {A: 495, B: 5}


def test_what_commits_late_is_found_by_the_look_without_the_floor(db):
    transport = PostgresTransport(
        Subscription(
            channels=(LANE.channel,), priorities=(LANE.priority,), lease=LEASE
        ),
        trail=Trail(far_every_seconds=0.0),
    )

    def claim() -> Mapping[int, int]:
        transport.fetch(limit=100)
        room = Room(total=100, beside_high=100, by_lane={LANE: 100})
        with server_cursor() as cursor:
            fences = transport.claim(cursor, room=room)
        ids = [fence.delivery_id for fence in fences]
        rows = query("SELECT tenant_id FROM outbox WHERE delivery_id = ANY (%s)", ids)
        return Counter(row["tenant_id"] for row in rows)

    add(A, 10)
    assert claim() == {A: 10}
    assert claim() == {}
    # A backlog, and rows of a transaction that took five minutes.
    add(A, 1_000, due_in=-10)
    add(B, 3, due_in=-300)

    assert [claim() for _ in range(3)] == [{A: 100}] * 3
    transport._floors._reached[LANE].ignored_from = 0.0
    assert claim() == {A: 97, B: 3}


def test_what_somebody_holds_is_left_to_them(
    committed: None, owner: psycopg.Connection
) -> None:
    """A poller that waited would wait as long as a cancellation's transaction takes."""
    shares = FairShares()
    add(A, 2_000)
    ids = add(B, 4, due_in=-1)

    def turn() -> Mapping[int, int]:
        poll = Poll(lane=LANE, floor=BEGINNING, limit=100, lease=LEASE)
        with transaction.atomic(), server_cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '5s'")
            return by_tenant(shares.poll(cursor, poll, outbox.poll_and_claim)[0])

    try:
        turn()
        with owner.transaction():
            owner.execute(
                "SELECT FROM outbox WHERE delivery_id = %s FOR UPDATE", ids[:1]
            )
            held = turn()
        free = turn()
    finally:
        # These rows have no deliveries; the invariants would say so.
        owner.execute("TRUNCATE outbox")

    assert (held, free) == ({A: 97, B: 3}, {A: 99, B: 1})


def test_pollers_beside_each_other_share_evenly_and_take_nothing_twice(
    committed: None, owner: psycopg.Connection
) -> None:
    tenants, each, pollers, turns = 5, 2_000, 4, 10
    for tenant in range(1, tenants + 1):
        add(tenant, each, due_in=-3600 - tenant)

    def work() -> list[Taken]:
        shares, taken = FairShares(), []
        poll = Poll(lane=LANE, floor=BEGINNING, limit=100, lease=LEASE)
        for _ in range(turns):
            with transaction.atomic():
                rows, _ = shares.poll(server_cursor(), poll, outbox.poll_and_claim)
            taken += rows
        return taken

    try:
        results = run_together(*[work] * pollers)
        rows = [row for result in results for row in result]
    finally:
        # These rows have no deliveries; the invariants would say so.
        owner.execute("TRUNCATE outbox")

    assert len({row.delivery_id for row in rows}) == len(rows) == 100 * pollers * turns
    # The first of each poller's turns takes the oldest, which are one tenant's.
    assert max(by_tenant(rows).values()) <= 100 * pollers + 180 * pollers
    assert min(by_tenant(rows).values()) >= 180 * pollers - 10
