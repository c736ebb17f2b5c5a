"""A dead letter gets another try: the same delivery, the same rules."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from uuid import UUID

from django.test import Client

from notifications.replay import replay
from tests.acme import Api, deliveries, events, query, run_together
from tests.factories.tenants import TenantFactory

A_DAY = timedelta(days=1, minutes=1)
FAILING = {"user_id": "usr_an", "email": "transient+9@simulate.example"}


def bury(api, consume, clock, **changes) -> tuple[str, UUID]:
    """Let a delivery use up its retry window."""
    notification_id = api.accept(recipient=FAILING, **changes)
    consume()
    clock.advance(A_DAY)
    consume()
    (delivery,) = deliveries(notification_id)
    assert delivery["status"] == "dead", delivery
    return notification_id, delivery["id"]


def as_staff(acme, *delivery_ids: UUID, **options):
    return replay(delivery_ids, tenant_ids=[acme.pk], actor="staff:support", **options)


def test_what_is_retried_in_vain_waits_with_its_error_under_its_own_id(
    api, consume, clock
):
    notification_id, delivery_id = bury(api, consume, clock)

    (letter,) = query("SELECT * FROM dead_letter")
    assert letter["delivery_id"] == delivery_id
    assert letter["reason"] == "retry_window_over"
    assert letter["code"]
    assert api.standing(notification_id)["status"] == "failed"


def test_a_replay_keeps_the_id_and_counts_on(api, acme, consume, clock):
    notification_id, delivery_id = bury(api, consume, clock)

    outcome = as_staff(acme, delivery_id)
    for _ in range(12):
        consume()
        clock.advance(timedelta(minutes=16))

    assert outcome == {"replayed": 1}
    (delivery,) = deliveries(notification_id)
    assert (delivery["id"], delivery["status"]) == (delivery_id, "sent")
    assert delivery["attempt_count"] > 2
    assert "delivery.replayed" in events(notification_id)
    assert query("SELECT 1 FROM dead_letter") == []


def test_a_replay_does_not_pass_an_opt_out(api, acme, consume, clock):
    """F61"""
    notification_id, delivery_id = bury(api, consume, clock)
    calls = len(query("SELECT 1 FROM sandbox_message"))
    api.put(
        "/v1/users/usr_an/notification-preferences",
        {"opt_outs": ["email"], "quiet_hours": None},
        **{"If-Match": '"0"'},
    )

    as_staff(acme, delivery_id)
    consume()

    assert deliveries(notification_id)[0]["status"] == "suppressed"
    assert len(query("SELECT 1 FROM sandbox_message")) == calls


def test_an_expired_delivery_is_left_where_it_is(api, acme, consume, clock):
    """O-PSH-4, F61"""
    expires_at = (clock.now() + A_DAY + timedelta(hours=1)).isoformat()
    notification_id, delivery_id = bury(api, consume, clock, expires_at=expires_at)
    clock.advance(timedelta(hours=2))

    assert as_staff(acme, delivery_id) == {"expired": 1}
    assert deliveries(notification_id)[0]["status"] == "dead"


def test_another_tenants_delivery_cannot_be_replayed(api, acme, consume, clock):
    """F61"""
    _, delivery_id = bury(api, consume, clock)
    other = TenantFactory.create()

    assert as_staff(other, delivery_id) == {"unknown": 1}


def test_what_may_have_been_sent_is_replayed_only_when_asked_for(
    api, acme, consume, clock
):
    notification_id = api.accept(
        recipient={"user_id": "usr_x", "email": "timeout+0@simulate.example"}
    )
    consume()
    clock.advance(A_DAY)
    consume()
    (delivery,) = deliveries(notification_id)
    assert delivery["status"] in {"dead", "parked"}

    assert as_staff(acme, delivery["id"]) == {"maybe_sent": 1}
    assert as_staff(acme, delivery["id"], even_if_maybe_sent=True) == {"replayed": 1}


def test_two_replays_at_once_make_one(api, acme, consume, clock):
    """F62"""
    notification_id, delivery_id = bury(api, consume, clock)

    outcomes = run_together(*[lambda: as_staff(acme, delivery_id)] * 8)

    assert sum(outcome["replayed"] for outcome in outcomes) == 1
    assert len(query("SELECT 1 FROM outbox")) == 1
    assert events(notification_id).count("delivery.replayed") == 1


def test_a_stale_claim_of_before_cannot_claim_what_was_replayed(
    api, acme, consume, clock
):
    _, delivery_id = bury(api, consume, clock)
    before = query("SELECT claim_count FROM delivery")[0]["claim_count"]

    as_staff(acme, delivery_id)

    (row,) = query("SELECT claim_count FROM outbox")
    assert row["claim_count"] > before


def test_what_its_sender_called_back_is_not_replayed(api, acme, consume, clock):
    notification_id, delivery_id = bury(api, consume, clock)

    (channel,) = api.cancel(notification_id).json()["channels"]

    assert (channel["result"], channel["status"]) == ("cancelled", "cancelled")
    assert as_staff(acme, delivery_id) == {"not_stuck": 1}
    assert query("SELECT 1 FROM dead_letter") == []


def test_a_parked_one_that_may_have_arrived_is_stopped_with_that_doubt(
    api, acme, consume, clock
):
    notification_id = api.accept(
        recipient={"user_id": "usr_x", "email": "timeout+9@simulate.example"}
    )
    for _ in range(2):
        consume()
        clock.advance(A_DAY)
    assert deliveries(notification_id)[0]["status"] in {"dead", "parked"}

    (channel,) = api.cancel(notification_id).json()["channels"]

    assert channel["result"] == "stopped_outcome_unknown"
    assert query("SELECT 1 FROM outbox") == query("SELECT 1 FROM dead_letter") == []


def test_a_cancellation_and_a_replay_at_once_agree(api, acme, consume, clock):
    results = set()
    for number in range(30):
        notification_id, delivery_id = bury(
            api, consume, clock, idempotency_key=f"race-{number}"
        )
        mine = Api(Client(), api.headers)

        answer, replayed = run_together(
            partial(mine.cancel, notification_id), partial(as_staff, acme, delivery_id)
        )
        (row,) = deliveries(notification_id)
        (result,) = (known["result"] for known in answer.json()["channels"])
        results.add((result, *replayed))
        is_cancelled = row["status"] == "cancelled"
        assert is_cancelled == (result == "cancelled")
        queued = query("SELECT 1 FROM outbox WHERE delivery_id = %s", delivery_id)
        assert bool(queued) == (row["status"] == "pending")

    # Whoever came first, the other was told so; or it was replayed, then cancelled.
    assert results <= {
        ("cancelled", "not_stuck"),
        ("cancelled", "replayed"),
        ("too_late", "replayed"),
    }
