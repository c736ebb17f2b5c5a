"""A consumer dies between the provider's answer and its own note of it."""

from __future__ import annotations

import signal
from collections import Counter
from datetime import timedelta

import pytest

from tests.acme import (
    deliveries,
    events,
    provider_settings,
    query,
    sandbox_calls,
)

LEASE_OVER = timedelta(seconds=61)
FORGETFUL = {"BACKEND": "providers.sandbox.ForgetfulSandboxAdapter", "OPTIONS": {}}


def die(consumer_process, failpoint: str) -> None:
    process = consumer_process("--once", NOTIFY_FAILPOINTS=failpoint)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


def test_the_delivery_is_taken_over_and_the_provider_recognises_it(
    api, consumer_process, consume, clock
):
    """F26"""
    notification_id = api.accept()
    die(consumer_process, "consumer.after_call=kill")
    (delivery,) = deliveries(notification_id)
    assert delivery["status"] == "sending"
    assert len(sandbox_calls(delivery["id"])) == 1

    clock.advance(LEASE_OVER)
    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["attempt_count"]) == ("sent", 2)
    assert delivery["maybe_sent"]
    reached = [call["accepted"] for call in sandbox_calls(delivery["id"])]
    assert reached == [True, False]
    assert events(notification_id)[1:] == ["delivery.attempt_lost", "delivery.sent"]


def test_before_the_lease_is_over_nobody_touches_it(api, consumer_process, consume):
    notification_id = api.accept()
    die(consumer_process, "consumer.after_call=kill")

    consume()

    (delivery,) = deliveries(notification_id)
    assert delivery["status"] == "sending"
    assert len(sandbox_calls(delivery["id"])) == 1
    query("UPDATE outbox SET due_at = app_now() RETURNING 1")
    consume()


@pytest.mark.parametrize(("channel", "status"), [("email", "sent"), ("sms", "parked")])
def test_without_the_providers_memory_the_unknown_policy_decides(
    api, consumer_process, consume, clock, channel, status
):
    """Reliability §2.10: a transactional e-mail is tried again, a paid SMS is not."""
    notification_id = api.accept(channels=[channel])
    die(consumer_process, "consumer.after_call=kill")
    clock.advance(LEASE_OVER)

    with provider_settings(sandbox=FORGETFUL):
        consume()
        (delivery,) = deliveries(notification_id)
        assert (delivery["status"], delivery["reason"]) == ("pending", "reconciling")
        clock.advance(timedelta(minutes=5))
        consume()

    (delivery,) = deliveries(notification_id)
    assert delivery["status"] == status
    assert delivery["maybe_sent"]


def test_an_in_app_message_is_never_unknown(api, consumer_process, consume, clock):
    notification_id = api.accept(channels=["in_app"])
    die(consumer_process, "consumer.after_call=kill")
    assert query("SELECT 1 FROM inbox_item") == []

    clock.advance(LEASE_OVER)
    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["maybe_sent"]) == ("sent", False)
    assert len(query("SELECT 1 FROM inbox_item")) == 1


@pytest.mark.parametrize(
    "failpoint",
    [
        "consumer.after_claim",
        "consumer.after_call",
        "consumer.before_settle",
        "consumer.after_settle",
    ],
)
def test_kill_minus_nine_half_way_loses_nothing_and_repeats_nothing(
    api, consumer_process, consume, clock, failpoint
):
    """F26: whatever the dead consumer held is finished by the next one."""
    for number in range(30):
        api.accept(
            idempotency_key=f"key-{number}",
            channels=["email", "sms", "push", "in_app"],
        )
    passes = 40 if failpoint == "consumer.after_call" else 1
    die(consumer_process, f"{failpoint}=kill@{passes}")

    clock.advance(LEASE_OVER)
    consume()

    statuses = Counter(row["status"] for row in query("SELECT status FROM delivery"))
    assert statuses == {"sent": 120}
    assert query("SELECT 1 FROM outbox") == []
    reached = query(
        "SELECT delivery_id FROM sandbox_message WHERE accepted"
        " GROUP BY 1 HAVING count(*) > 1"
    )
    assert reached == []
