"""One message that nobody foresaw must not take the others down."""

from __future__ import annotations

import time
from datetime import timedelta

import orjson
import pytest
from django.db import connection

from foundation.ids import parse_public_id
from notifications.dispatch import judging
from notifications.dispatch.settling import Settlement, settle_batch
from notifications.replay import replay
from notifications.retry_policy import NextStep
from notifications.statuses import DeliveryStatus
from notifications.transitions import Fence
from providers.channels import Channel
from tenants.categories import Priority
from tenants.data_keys import seal
from tests.acme import deliveries, events, provider_settings, query, sandbox_calls
from tests.factories.notifications import Row, delivery_of, insert, outbox_of
from tests.kafka import wait_until

LEASE_OVER = timedelta(seconds=61)
# Only it is left, and what a claim or a record would have dated is due much sooner.
SET_ASIDE = """
SELECT delivery_id FROM outbox
 WHERE published_at IS NULL AND due_at > app_now() + interval '9 minutes'
   AND (SELECT count(*) FROM outbox) = 1
"""
SOMEBODY = {"user_id": "usr_y", "email": "y@example.com"}


def settlement(fence, step):
    return Settlement(
        fence=fence,
        notification_id=delivery_of(fence.delivery_id)["notification_id"],
        tenant_id=1,
        channel=Channel.EMAIL,
        priority=Priority.NORMAL,
        attempt=1,
        step=step,
    )


@pytest.mark.django_db(transaction=True)
def test_an_answer_of_before_and_one_of_after_a_take_over_in_one_batch(committed):
    """Only the one that holds the fence counts: the row must not be lost."""
    own = insert(Row(status=DeliveryStatus.SENDING, claim_count=2, attempt_count=1))
    stale = Fence(own.delivery_id, 1)
    rejected = NextStep(status=DeliveryStatus.FAILED, reason="rejected_recipient")
    again = NextStep(
        status=DeliveryStatus.PENDING,
        reason="transient_error",
        delay=timedelta(seconds=1),
        counted=False,
    )

    settle_batch([settlement(stale, rejected), settlement(own, again)])

    assert delivery_of(own.delivery_id)["status"] == "pending"
    assert outbox_of(own.delivery_id)[0] == 3


def test_a_settlement_that_cannot_be_written_is_left_to_its_lease_alone(api, consume):
    poisoned = {"BACKEND": "tests.broken_adapter.PoisonedInbox"}
    ids = [
        api.accept(
            idempotency_key=f"key-{number}",
            recipient={"user_id": "poison" if number == 3 else f"usr_{number}"},
            channels=["in_app"],
        )
        for number in range(8)
    ]

    with provider_settings(in_app=poisoned):
        consume()

    statuses = [deliveries(one)[0]["status"] for one in ids]
    assert statuses[3] == "sending"
    assert set(statuses[:3] + statuses[4:]) == {"sent"}


def test_an_address_that_cannot_be_opened_parks_its_own_delivery_alone(api, consume):
    broken = api.accept(idempotency_key="broken")
    innocent = api.accept(idempotency_key="innocent", recipient=SOMEBODY)
    query(
        "UPDATE address SET normalised = set_byte(normalised, 30,"
        " (get_byte(normalised, 30) + 1) %% 256) RETURNING 1"
    )

    consume()

    assert deliveries(broken)[0]["reason"] == "unsealable"
    assert deliveries(innocent)[0]["status"] == "sent"


def test_content_that_makes_no_sense_parks_its_own_delivery_alone(api, acme, consume):
    broken = api.accept(idempotency_key="broken")
    innocent = api.accept(idempotency_key="innocent")
    identifier = parse_public_id("ntf", broken)
    sealed = seal(
        tenant_id=acme.pk,
        table="notification_content",
        row=identifier,
        plaintext=orjson.dumps({"no": "variables"}),
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE notification_content SET sealed = %s WHERE id = %s",
            [sealed, identifier],
        )

    consume()

    assert deliveries(broken)[0]["reason"] == "unrenderable"
    assert deliveries(innocent)[0]["status"] == "sent"


def test_a_claim_that_fails_for_one_delivery_goes_on_with_the_others(
    api, running, settings
):
    """A category without a policy is a bug in the settings: an unforeseen error."""
    broken = api.accept(
        idempotency_key="broken",
        template={"name": "spring_sale"},
        variables={"discount": "20"},
    )
    innocents = [
        api.accept(idempotency_key=f"innocent-{number}", priority="low")
        for number in range(5)
    ]
    query(
        "UPDATE delivery SET status = 'sending' WHERE category = 'marketing'"
        " RETURNING 1"
    )
    settings.RETRY_POLICIES = {
        name: policy
        for name, policy in settings.RETRY_POLICIES.items()
        if name != "marketing"
    }
    judging.retry_policy.cache_clear()

    def is_over() -> bool:
        return query(SET_ASIDE) == [{"delivery_id": deliveries(broken)[0]["id"]}]

    with running():
        wait_until(is_over)

    assert {deliveries(one)[0]["status"] for one in innocents} == {"sent"}
    assert deliveries(broken)[0]["status"] == "sending"


def test_an_adapter_without_an_answer_leaves_an_unknown_outcome(api, consume):
    with provider_settings(sandbox={"BACKEND": "tests.broken_adapter.MuteAdapter"}):
        notification_id = api.accept(channels=["sms"])
        consume()

    (sms,) = deliveries(notification_id)
    assert (sms["reason"], sms["code"]) == ("reconciling", "adapter_error")
    assert sms["maybe_sent"]


def test_what_is_long_overdue_is_found_behind_a_claim_that_was_undone(api, consume):
    orphan = insert(Row(tenant_id=1))
    query("DELETE FROM delivery WHERE id = %s RETURNING 1", orphan.delivery_id)
    notification_id = api.accept()
    query("UPDATE outbox SET due_at = app_now() - interval '2 minutes' RETURNING 1")

    consume()

    assert deliveries(notification_id)[0]["status"] == "sent"
    query("DELETE FROM outbox RETURNING 1")
    query("DELETE FROM notification WHERE accepted_by = 'service:test' RETURNING 1")


def test_a_channel_whose_provider_is_slow_does_not_fill_the_window(
    api, consumer_process
):
    """I10 in the small: the SMS goes out while all e-mail still hangs."""
    for number in range(60):
        api.accept(
            idempotency_key=f"slow-{number}",
            recipient={"user_id": "usr_x", "email": "slow+8@simulate.example"},
        )
    quick = api.accept(idempotency_key="quick", channels=["sms"])

    process = consumer_process("--once", "--window", "50")
    deadline = time.monotonic() + 60
    while deliveries(quick)[0]["status"] != "sent":
        assert time.monotonic() < deadline
    statuses = {
        row["status"] for row in query("SELECT status FROM delivery WHERE channel = 1")
    }
    process.communicate(timeout=90)

    assert statuses == {"pending", "sending"}


def test_a_window_of_one_serves_the_higher_classes_too(api, consumer_process):
    notification_id = api.accept(priority="high")

    process = consumer_process("--once", "--window", "1")
    process.communicate(timeout=60)

    assert deliveries(notification_id)[0]["status"] == "sent"


def test_a_stop_is_heard_while_the_database_is_away(committed, consumer_process, owner):
    name = connection.settings_dict["NAME"]
    process = consumer_process()
    deadline = time.monotonic() + 30
    while not query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
        " AND query LIKE '%%outbox%%'",
        name,
    ):
        assert time.monotonic() < deadline
    connection.close()
    # As good as away: nobody may connect any more, and nobody is connected.
    owner.execute(f'REVOKE CONNECT ON DATABASE "{name}" FROM PUBLIC')
    try:
        owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = %s AND pid <> pg_backend_pid()",
            [name],
        )
        process.terminate()
        process.communicate(timeout=30)
    finally:
        owner.execute(f'GRANT CONNECT ON DATABASE "{name}" TO PUBLIC')

    assert process.returncode == 0


def test_a_replay_opens_all_attempts_anew(api, acme, consume, clock, settings):
    policy = {**settings.RETRY_POLICIES["transactional"], "max_attempts": 2}
    settings.RETRY_POLICIES = {**settings.RETRY_POLICIES, "transactional": policy}
    judging.retry_policy.cache_clear()
    notification_id = api.accept(
        recipient={"user_id": "usr_x", "email": "transient+0@simulate.example"}
    )
    for _ in range(3):
        consume()
        clock.advance(timedelta(minutes=16))
    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("dead", "attempts_used_up")

    replay([delivery["id"]], tenant_ids=[acme.pk], actor="staff:support")
    consume()

    assert deliveries(notification_id)[0]["status"] == "pending"
    assert len(sandbox_calls(delivery["id"])) == 3


def test_a_lost_in_app_attempt_leaves_no_doubt_but_one_of_a_test_key_does(
    api, consume, clock
):
    notification_id = api.accept(channels=["in_app"])
    query("UPDATE delivery SET status = 'sending' RETURNING 1")
    clock.advance(LEASE_OVER)

    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["maybe_sent"]) == ("sent", False)
    assert events(notification_id)[1:] == ["delivery.attempt_lost", "delivery.sent"]
