"""Nobody consumed for a while: what is still valid goes out, the rest expires aloud."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from subprocess import Popen
from typing import Any

import pytest

from tests.acme import (
    Api,
    deliveries,
    events,
    provider_settings,
    query,
    sandbox_calls,
)
from tests.database_clock import Clock
from tests.kafka import (
    Kafka,
    Running,
    consuming,
    is_all_finished,
    relaying,
    wait_until,
)

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
OUTAGE = 2 * HOUR
EXPIRED = ("expired", "expired")
FORGETFUL = {"BACKEND": "providers.sandbox.ForgetfulSandboxAdapter", "OPTIONS": {}}
CODE: Mapping[str, Any] = {
    "template": {"name": "login_code"},
    "variables": {"code": "1"},
    "channels": ["sms"],
}


def to(behaviour: str) -> dict[str, str]:
    return {"user_id": "usr_x", "email": f"{behaviour}@simulate.example"}


def accept(api: Api, key: str, **changes: Any) -> str:
    return api.accept(**{"idempotency_key": key, **changes})


def later(clock: Clock, by: timedelta) -> str:
    return (clock.now() + by).isoformat()


def state(notification_id: str) -> set[tuple[str, str]]:
    return {(row["status"], row["reason"]) for row in deliveries(notification_id)}


def calls(notification_id: str) -> int:
    return sum(len(sandbox_calls(row["id"])) for row in deliveries(notification_id))


def told_of_the_end(notification_id: str) -> set[tuple[str, str]]:
    """Read the last event of each delivery, with its reason."""
    return {
        (row["kind"], row["reason"])
        for delivery in deliveries(notification_id)
        for row in query(
            "SELECT kind, reason FROM audit_event WHERE delivery_id = %s"
            " ORDER BY created_at DESC, id DESC LIMIT 1",
            delivery["id"],
        )
    }


def check_expired(*notification_ids: str, called: int = 0) -> None:
    for notification_id in notification_ids:
        assert state(notification_id) == {EXPIRED}
        assert told_of_the_end(notification_id) == {("delivery.expired", "expired")}
        assert calls(notification_id) == called


def check_sent(*notification_ids: str, called: int = 1) -> None:
    for notification_id in notification_ids:
        assert state(notification_id) == {("sent", "")}
        assert calls(notification_id) == called


def test_what_is_valid_is_sent_and_the_rest_expires_with_a_reason(
    api: Api, running: Running, clock: Clock
) -> None:
    without = accept(api, "without")
    until_later = accept(api, "later", expires_at=later(clock, OUTAGE + HOUR))
    code = accept(api, "code", **CODE)
    until_before = accept(
        api,
        "before",
        channels=["email", "sms", "push", "in_app"],
        expires_at=later(clock, HOUR),
    )
    clock.advance(OUTAGE)

    with running():
        wait_until(is_all_finished)

    check_sent(without, until_later)
    check_expired(code, until_before)
    assert query("SELECT 1 FROM inbox_item") == []
    assert api.standing(code)["status"] == "expired"


def test_what_is_due_only_later_is_not_sent_by_the_way(
    api: Api, running: Running, clock: Clock
) -> None:
    came_due = accept(api, "came", send_at=later(clock, HOUR))
    ahead = accept(api, "ahead", send_at=later(clock, OUTAGE + HOUR))
    came_and_went = accept(
        api, "went", send_at=later(clock, HOUR), expires_at=later(clock, HOUR + MINUTE)
    )
    clock.advance(OUTAGE)

    with running():
        wait_until(lambda: state(came_due) == {("sent", "")})
        wait_until(lambda: state(came_and_went) == {EXPIRED})
    assert state(ahead) == {("pending", "")}
    assert calls(ahead) == 0
    clock.advance(HOUR)
    with running():
        wait_until(is_all_finished)

    check_sent(came_due, ahead)
    check_expired(came_and_went)


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("account_fault", {"recipient": to("account-fault")}),
        (
            "outcome_unknown",
            {
                "recipient": to("timeout+1"),
                "template": {"name": "spring_sale"},
                "variables": {"discount": "20"},
            },
        ),
    ],
)
def test_what_is_parked_expires_at_its_time_and_not_before(
    api: Api,
    running: Running,
    clock: Clock,
    reason: str,
    changes: Mapping[str, Any],
) -> None:
    parked = accept(api, "parked", expires_at=later(clock, OUTAGE), **changes)
    for_good = accept(api, "for-good", **changes)
    with provider_settings(sandbox=FORGETFUL), running():
        wait_until(lambda: state(parked) == state(for_good) == {("parked", reason)})
    clock.advance(OUTAGE - MINUTE)
    with running():
        other = accept(api, "other")
        wait_until(lambda: state(other) == {("sent", "")})
    assert state(parked) == {("parked", reason)}
    clock.advance(HOUR)

    with running():
        wait_until(lambda: state(parked) == {EXPIRED})

    check_expired(parked, called=1)
    assert state(for_good) == {("parked", reason)}
    (letter,) = query("SELECT delivery_id FROM dead_letter")
    assert letter["delivery_id"] == deliveries(for_good)[0]["id"]


def test_what_waited_for_its_next_attempt_expires_too(
    api: Api, consume: Callable[[], None], clock: Clock
) -> None:
    failed_once = to("transient+1")
    expires_at = later(clock, HOUR)
    short = accept(api, "short", recipient=failed_once, expires_at=expires_at)
    unknown = accept(api, "unknown", recipient=to("timeout+1"), expires_at=expires_at)
    valid = accept(api, "valid", recipient=failed_once)
    consume()
    clock.advance(OUTAGE)

    consume()

    check_expired(short, unknown, called=1)
    check_sent(valid, called=2)
    assert deliveries(unknown)[0]["maybe_sent"]


def test_what_a_worker_left_behind_expires_and_stays_unknown(
    api: Api,
    consumer_process: Callable[..., Popen[str]],
    consume: Callable[[], None],
    clock: Clock,
) -> None:
    """It died behind the call, and nobody took over in time."""
    left = accept(api, "left", expires_at=later(clock, HOUR))
    consumer_process(
        "--once", NOTIFY_FAILPOINTS="consumer.after_call=kill"
    ).communicate(timeout=60)
    assert state(left) == {("sending", "")}
    clock.advance(OUTAGE)

    consume()

    check_expired(left, called=1)
    assert deliveries(left)[0]["maybe_sent"]
    assert events(left)[1:] == ["delivery.attempt_lost", "delivery.expired"]


def test_records_from_before_the_outage_expire_like_the_rest(
    api: Api, kafka: Kafka, clock: Clock
) -> None:
    """Published and never claimed: the topic holds them, and no relay comes back."""
    valid = accept(api, "valid")
    expired = accept(api, "expired", expires_at=later(clock, HOUR))
    with relaying():
        wait_until(
            lambda: query("SELECT 1 FROM outbox WHERE published_at IS NULL") == []
        )
    clock.advance(OUTAGE)

    with consuming():
        wait_until(is_all_finished)

    check_sent(valid)
    check_expired(expired)


@pytest.mark.parametrize("behaviour", ["transient+1", "rate-limited+1", "timeout+1"])
@pytest.mark.parametrize(
    "template",
    [
        {"template": {"name": "invoice_due"}},
        {"template": {"name": "spring_sale"}, "variables": {"discount": "20"}},
    ],
    ids=["transactional", "marketing"],
)
def test_what_nobody_tried_in_its_retry_window_still_gets_one(
    api: Api,
    consume: Callable[[], None],
    clock: Clock,
    template: Mapping[str, Any],
    behaviour: str,
) -> None:
    """An outage of ours must not make the first trouble of a provider's the last."""
    valid = accept(api, "valid", recipient=to(behaviour), **template)
    clock.advance(timedelta(hours=25))
    consume()
    assert [status for status, _ in state(valid)] == ["pending"]
    clock.advance(MINUTE)

    consume()

    assert state(valid) == {("sent", "")}


def test_the_retry_window_is_as_long_as_ever_once_it_was_claimed(
    api: Api, consume: Callable[[], None], clock: Clock
) -> None:
    failing = accept(api, "failing", recipient=to("transient+9"))
    clock.advance(timedelta(hours=25))
    consume()
    (delivery,) = deliveries(failing)
    left = delivery["retry_until"] - clock.now()
    assert timedelta(hours=23) < left < timedelta(hours=24)
    clock.advance(timedelta(hours=24))

    consume()

    assert state(failing) == {("dead", "retry_window_over")}
