"""Every status times every verb, on PostgreSQL."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from foundation.statements import server_cursor
from notifications import transitions
from notifications.statuses import FINISHED, DeliveryStatus
from notifications.transitions import ARROWS, Arrow, BrokenInvariant, Fence
from tests.factories.notifications import Row, delivery_of, insert

pytestmark = pytest.mark.django_db

S = DeliveryStatus
OWN = 3


def at(status):
    return insert(Row(status=status, claim_count=OWN, attempt_count=1)).delivery_id


def begin(cursor, delivery_id):
    fence = Fence(delivery_id, OWN + 1)
    transitions.begin_sending(cursor, [fence], retry_windows={})


def settle_to(target):
    def settle(cursor, delivery_id):
        arrow = Arrow(
            fence=Fence(delivery_id, OWN),
            next_claim_count=OWN,
            status=target,
            counted=True,
            unresolved=False,
        )
        transitions.settle(cursor, [arrow])

    return settle


def cancel(cursor, delivery_id):
    seen = S(delivery_of(delivery_id)["status"])
    if not transitions.cancel(cursor, [(delivery_id, seen)]):
        raise BrokenInvariant([delivery_id])


def revive(cursor, delivery_id):
    if not transitions.revive(
        cursor, [transitions.Revival(delivery_id, timedelta(hours=1))]
    ):
        raise BrokenInvariant([delivery_id])


VERBS = [
    ("begin_sending", S.SENDING, begin),
    *(("settle", target, settle_to(target)) for target in sorted(ARROWS["settle"][1])),
    ("cancel", S.CANCELLED, cancel),
    ("revive", S.PENDING, revive),
]


@pytest.mark.parametrize("status", S)
@pytest.mark.parametrize(
    ("verb", "target", "act"), VERBS, ids=[f"{verb}-{to}" for verb, to, _ in VERBS]
)
def test_a_verb_moves_what_its_arrow_allows_and_nothing_else(status, verb, target, act):
    delivery_id = at(status)
    allowed = status in ARROWS[verb][0]

    with server_cursor() as cursor:
        if allowed:
            act(cursor, delivery_id)
        else:
            with pytest.raises(BrokenInvariant), transaction.atomic():
                act(cursor, delivery_id)

    row = delivery_of(delivery_id)
    assert row["status"] == (target if allowed else status)
    assert (row["finished_at"] is not None) == (S(row["status"]) in FINISHED)


def test_only_what_is_still_as_it_was_seen_is_cancelled():
    """What was dead a moment ago may have an outbox row again that nobody locked."""
    delivery_id = at(S.PENDING)

    with server_cursor() as cursor:
        assert transitions.cancel(cursor, [(delivery_id, S.DEAD)]) == {}

    assert delivery_of(delivery_id)["status"] == S.PENDING


@pytest.mark.parametrize(
    ("maybe_sent", "is_confirmed", "unknown_count"),
    [(True, True, 1), (True, False, 0), (False, True, 0)],
)
def test_a_person_who_replays_what_may_have_been_sent_has_decided(
    maybe_sent, is_confirmed, unknown_count
):
    delivery_id = insert(
        Row(status=S.PARKED, claim_count=OWN, maybe_sent=maybe_sent)
    ).delivery_id
    revival = transitions.Revival(
        delivery_id, timedelta(hours=1), is_confirmed=is_confirmed
    )

    with server_cursor() as cursor:
        transitions.revive(cursor, [revival])

    assert delivery_of(delivery_id)["unknown_count"] == unknown_count


@pytest.mark.parametrize("stale", [OWN - 1, OWN + 1])
def test_a_stale_fence_settles_nothing(stale):
    delivery_id = at(S.SENDING)
    arrow = Arrow(
        fence=Fence(delivery_id, stale),
        next_claim_count=stale,
        status=S.SENT,
        counted=True,
        unresolved=False,
    )
    with (
        server_cursor() as cursor,
        pytest.raises(BrokenInvariant),
        transaction.atomic(),
    ):
        transitions.settle(cursor, [arrow])

    assert delivery_of(delivery_id)["status"] == S.SENDING


def test_a_take_over_counts_the_lost_attempt_as_maybe_sent():
    delivery_id = at(S.SENDING)

    with server_cursor() as cursor:
        begin(cursor, delivery_id)

    row = delivery_of(delivery_id)
    assert (row["attempt_count"], row["maybe_sent"]) == (2, True)


def test_a_first_claim_counts_nothing():
    delivery_id = at(S.PENDING)

    with server_cursor() as cursor:
        begin(cursor, delivery_id)

    row = delivery_of(delivery_id)
    assert (row["attempt_count"], row["maybe_sent"]) == (1, False)


def test_a_batch_moves_all_or_none():
    good, bad = at(S.SENDING), at(S.SENT)
    arrows = [
        Arrow(
            fence=Fence(delivery_id, OWN),
            next_claim_count=OWN,
            status=S.SENT,
            counted=True,
            unresolved=False,
        )
        for delivery_id in (good, bad)
    ]
    with (
        server_cursor() as cursor,
        pytest.raises(BrokenInvariant) as broken,
        transaction.atomic(),
    ):
        transitions.settle(cursor, arrows)

    assert broken.value.delivery_ids == {bad}
    assert delivery_of(good)["status"] == S.SENDING
