"""What each answer of a provider leads to, through the real consumer."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from tests.acme import deliveries, events, provider_settings, query, sandbox_calls

FORGETFUL = {"BACKEND": "providers.sandbox.ForgetfulSandboxAdapter", "OPTIONS": {}}


def to(behaviour):
    return {"user_id": "usr_x", "email": f"{behaviour}@simulate.example"}


@pytest.mark.parametrize(
    ("behaviour", "status", "reason", "attempts"),
    [
        ("accept", "sent", "", 1),
        ("permanent", "failed", "rejected_recipient", 1),
        ("dead-token", "failed", "rejected_token", 1),
        ("opted-out", "failed", "rejected_opt_out", 1),
        ("bad-message", "failed", "permanent_message", 1),
        ("account-fault", "parked", "account_fault", 0),
        ("transient+1", "pending", "transient_error", 1),
        ("rate-limited+1", "pending", "rate_limited", 0),
        ("timeout+1", "pending", "outcome_unknown", 1),
    ],
)
def test_an_answer_leads_to_its_state(
    api, consume, behaviour, status, reason, attempts
):
    notification_id = api.accept(recipient=to(behaviour))

    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == (status, reason)
    assert delivery["attempt_count"] == attempts
    listed = query("SELECT status FROM dead_letter")
    assert [row["status"] for row in listed] == ([status] if status == "parked" else [])


def test_waiting_for_quota_counts_no_attempt(api, consume, clock):
    """B24: a deferral is not an attempt."""
    notification_id = api.accept(recipient=to("rate-limited+3"))
    for _ in range(4):
        consume()
        clock.advance(timedelta(seconds=2))

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["attempt_count"]) == ("sent", 1)
    assert events(notification_id).count("delivery.snoozed") == 3


def test_a_code_that_comes_too_late_is_not_sent(api, consume, clock):
    """O-PSH-4: an OTP expires after five minutes unless the caller says otherwise."""
    notification_id = api.accept(
        template={"name": "login_code"}, variables={"code": "1"}, channels=["sms"]
    )
    clock.advance(timedelta(minutes=5, seconds=1))

    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("expired", "expired")
    assert sandbox_calls(delivery["id"]) == []
    assert api.standing(notification_id)["status"] == "expired"


def test_a_parked_message_expires_too(api, consume, clock):
    expires_at = (clock.now() + timedelta(hours=1)).isoformat()
    notification_id = api.accept(recipient=to("account-fault"), expires_at=expires_at)
    consume()
    assert deliveries(notification_id)[0]["status"] == "parked"

    clock.advance(timedelta(hours=1, seconds=1))
    consume()

    (delivery,) = deliveries(notification_id)
    assert delivery["status"] == "expired"
    assert len(sandbox_calls(delivery["id"])) == 1
    assert query("SELECT 1 FROM dead_letter") == []


def test_a_parked_message_without_expiry_stays_parked(api, consume, clock):
    notification_id = api.accept(recipient=to("account-fault"))
    consume()

    clock.advance(timedelta(days=300))
    consume()

    assert deliveries(notification_id)[0]["status"] == "parked"
    query("UPDATE outbox SET due_at = app_now() + interval '1 day' RETURNING 1")


def test_an_address_that_changed_since_is_not_written_to(api, consume):
    """B79, O-PSH-1: the delivery names an address, and that is gone."""
    notification_id = api.accept()
    answer = api.put("/v1/users/usr_an", {"locale": "vi", "email": "new@example.com"})
    assert answer.status_code == 200

    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("suppressed", "address_gone")


def test_content_that_was_erased_is_not_sent(api, consume):
    notification_id = api.accept()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM notification_content")

    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == (
        "suppressed",
        "content_erased",
    )


def test_content_that_cannot_be_opened_waits_for_a_person(api, consume):
    first, second = api.accept(idempotency_key="a"), api.accept(idempotency_key="b")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE notification_content SET sealed = sealed || '\\x00'"
            " WHERE id = (SELECT min(id::text)::uuid FROM notification)"
        )

    consume()

    assert deliveries(first)[0]["reason"] == "unsealable"
    assert deliveries(second)[0]["status"] == "sent"


def test_a_provider_that_is_not_configured_parks_and_hurts_nobody_else(
    api, consume, settings
):
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "sms": "nowhere"}
    notification_id = api.accept(channels=["email", "sms"])

    consume()

    email, sms = deliveries(notification_id)
    assert email["status"] == "sent"
    assert (sms["status"], sms["code"]) == ("parked", "unknown_provider")


def test_a_bug_in_an_adapter_is_an_unknown_outcome(api, consume):
    broken = {"BACKEND": "tests.broken_adapter.BrokenAdapter"}
    with provider_settings(sandbox=broken):
        notification_id = api.accept(channels=["in_app", "sms"])
        consume()

    sms, in_app = deliveries(notification_id)
    assert (sms["reason"], sms["code"]) == ("reconciling", "adapter_error")
    assert sms["maybe_sent"]
    assert in_app["status"] == "sent"


def test_marketing_that_may_have_gone_out_is_not_sent_again(api, consume, clock):
    with provider_settings(sandbox=FORGETFUL):
        notification_id = api.accept(
            template={"name": "spring_sale"},
            variables={"discount": "20"},
            recipient=to("timeout+1"),
        )
        for _ in range(3):
            consume()
            clock.advance(timedelta(minutes=31))

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("parked", "outcome_unknown")
    assert len(sandbox_calls(delivery["id"])) == 1
