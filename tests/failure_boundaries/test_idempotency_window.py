"""A provider's memory for our key ends: a repetition after that may be a duplicate."""

from __future__ import annotations

import signal
from datetime import timedelta

import pytest

from foundation.statements import server_cursor
from notifications.replay import resume_mended_accounts
from providers.account_faults import note_faulty, note_mended
from tests.acme import deliveries, events, provider_settings, query, sandbox_calls

FIVE_MINUTES = timedelta(minutes=5)


def sandbox(window: float) -> dict[str, object]:
    return {
        "BACKEND": "providers.sandbox.SandboxAdapter",
        "IDEMPOTENCY_WINDOW": window,
        "RATE": None,
        "BREAKER": None,
    }


def to(behaviour):
    return {"user_id": "usr_x", "email": f"{behaviour}@simulate.example"}


@pytest.mark.parametrize(
    ("window", "reason", "second"),
    [(60.0, "outcome_unknown", "sent"), (0.0, "reconciling", "pending")],
)
def test_an_unknown_is_repeated_within_the_window_only(
    api, consume, clock, window, reason, second
):
    with provider_settings(sandbox=sandbox(window)):
        notification_id = api.accept(recipient=to("timeout+1"))
        consume()
        assert deliveries(notification_id)[0]["reason"] == reason
        clock.advance(timedelta(seconds=30))
        consume()

    assert deliveries(notification_id)[0]["status"] == second


def test_a_repetition_that_comes_too_late_is_decided_by_the_policy(api, consume, clock):
    """An outage of ours lay between the first call and its repetition."""
    with provider_settings(sandbox=sandbox(60.0)):
        notification_id = api.accept(recipient=to("timeout+1"))
        consume()
        clock.advance(timedelta(seconds=61))
        consume()

        (delivery,) = deliveries(notification_id)
        assert (delivery["status"], delivery["reason"]) == ("pending", "reconciling")
        assert delivery["attempt_count"] == 1
        assert len(sandbox_calls(delivery["id"])) == 1

        clock.advance(FIVE_MINUTES)
        consume()
    assert deliveries(notification_id)[0]["status"] == "sent"


def test_the_window_opens_with_the_first_call_and_not_with_the_last(
    api, consume, clock
):
    with provider_settings(sandbox=sandbox(120.0)):
        notification_id = api.accept(recipient=to("timeout+2"))
        consume()
        first = deliveries(notification_id)[0]["called_at"]
        clock.advance(timedelta(seconds=119))
        consume()

    (delivery,) = deliveries(notification_id)
    assert delivery["called_at"] == first
    assert (delivery["attempt_count"], delivery["reason"]) == (2, "reconciling")


def test_waiting_before_the_first_call_uses_up_none_of_the_window(api, consume, clock):
    with provider_settings(sandbox=sandbox(60.0)):
        notification_id = api.accept(
            recipient=to("timeout+1"),
            send_at=(clock.now() + timedelta(hours=1)).isoformat(),
        )
        clock.advance(timedelta(hours=1))
        consume()

    assert deliveries(notification_id)[0]["reason"] == "outcome_unknown"


def test_a_clock_that_ran_ahead_stops_no_repetition(api, consume, clock):
    notification_id = api.accept(recipient=to("timeout+1"))
    consume()
    query("UPDATE delivery SET called_at = app_now() + interval '1 hour' RETURNING 1")
    clock.advance(timedelta(seconds=2))
    consume()

    assert deliveries(notification_id)[0]["status"] == "sent"


@pytest.mark.parametrize(
    ("window", "statuses"), [(3600.0, ["sent"] * 2), (30.0, ["pending"])]
)
def test_the_lost_attempt_of_a_worker_is_within_the_window_or_not(
    api, consumer_process, consume, clock, window, statuses
):
    notification_id = api.accept()
    process = consumer_process("--once", NOTIFY_FAILPOINTS="consumer.after_call=kill")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL

    clock.advance(timedelta(seconds=61))
    with provider_settings(sandbox=sandbox(window)):
        consume()

    (delivery,) = deliveries(notification_id)
    assert delivery["status"] == statuses[-1]
    assert len(sandbox_calls(delivery["id"])) == len(statuses)
    assert events(notification_id)[1] == "delivery.attempt_lost"


def test_a_doubtful_one_that_waited_for_its_account_is_decided_by_the_policy(
    api, consume, clock
):
    """No attempt is counted after a resume, and the window is over."""
    account = {**sandbox(60.0), "BREAKER": {}}
    with provider_settings(sandbox=account):
        notification_id = api.accept(recipient=to("timeout+1"))
        consume()
        with server_cursor() as cursor:
            note_faulty(cursor, {"sandbox": "http_401"})
        clock.advance(timedelta(seconds=2))
        consume()
        (delivery,) = deliveries(notification_id)
        assert (delivery["status"], delivery["reason"]) == ("parked", "account_fault")

        with server_cursor() as cursor:
            note_mended(cursor, ["sandbox"])
        clock.advance(timedelta(minutes=2))
        assert resume_mended_accounts() == 1
        consume()

        (delivery,) = deliveries(notification_id)
        assert (delivery["status"], delivery["reason"]) == ("pending", "reconciling")
        assert len(sandbox_calls(delivery["id"])) == 1
        clock.advance(FIVE_MINUTES)
        consume()
    # To the sandbox it is a first attempt again, and times out.
    assert len(sandbox_calls(delivery["id"])) == 2
    assert deliveries(notification_id)[0]["status"] == "parked"
