"""What falls into quiet hours after all is put off in the claim, or before the call."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from subprocess import Popen
from typing import Any

import pytest
from django.conf import settings

from notifications.dispatch.claiming import Outgoing, claim_batch
from notifications.dispatch.sending import send
from notifications.dispatch.settling import Settlement, settle_batch
from notifications.outbox import LANES
from notifications.replay import replay
from notifications.transport.base import Room
from notifications.transport.postgres import PostgresTransport
from providers.gateway import Gateway
from tests.acme import ALL, Api, deliveries, events, query
from tests.database_clock import Clock
from tests.failure_boundaries.test_outbox_retry import wait_until_stopped
from tests.kafka import Running, is_all_finished, wait_until
from tests.sleepers import (
    AT_NIGHT,
    AT_NOON,
    AT_TEN,
    CODE,
    HOUR,
    HOURS,
    IN_THE_MORNING,
    MINUTE,
    SALE,
    SECOND,
    USER,
    calls,
    choose,
    due_at,
    register,
    snoozed,
    standing,
)

MORNING = "2026-08-20T01:00:00+00:00"
PUT_OFF = [("worker", "quiet_hours", MORNING)]
WAITS = ("pending", "quiet_hours")
MARKETING_WINDOW: timedelta = settings.RETRY_POLICIES["marketing"]["window"]


def check_put_off(notification_id: str, *, attempts: int = 0) -> None:
    """It waits for the morning, uncalled and uncounted, and the trail says why."""
    assert standing(notification_id) == WAITS
    assert due_at(notification_id) == IN_THE_MORNING
    assert snoozed(notification_id) == PUT_OFF
    (delivery,) = deliveries(notification_id)
    assert delivery["attempt_count"] == len(calls(notification_id)) == attempts
    assert not delivery["maybe_sent"]
    assert delivery["retry_until"] == IN_THE_MORNING + MARKETING_WINDOW


def test_what_was_allowed_and_is_claimed_in_quiet_hours_waits_for_their_end(
    sleeper: Api, running: Running, clock: Clock
) -> None:
    """The consumers were away until the night."""
    clock.stop_at(AT_TEN - SECOND)
    late = sleeper.accept(**SALE)
    clock.stop_at(AT_NIGHT)

    with running():
        wait_until(lambda: standing(late) == WAITS)
        code = sleeper.accept(**{**CODE, "idempotency_key": "code"})
        wait_until(lambda: standing(code) == ("sent", ""))
    check_put_off(late)
    clock.stop_at(IN_THE_MORNING)
    with running():
        wait_until(is_all_finished)

    assert calls(late) == [IN_THE_MORNING]
    assert events(late)[1:] == ["delivery.snoozed", "delivery.sent"]


def test_it_is_put_off_once_and_not_looked_at_again_before(
    sleeper: Api, consume: Callable[[], None], clock: Clock
) -> None:
    late = sleeper.accept(**SALE)
    clock.stop_at(AT_TEN)
    consume()
    (put_off,) = deliveries(late)

    for at in (AT_TEN, AT_NIGHT, IN_THE_MORNING - SECOND):
        clock.stop_at(at)
        consume()
        assert deliveries(late) == [put_off]

    assert snoozed(late) == PUT_OFF


def test_quiet_hours_asked_for_since_are_kept(
    awake: Api, consume: Callable[[], None], clock: Clock
) -> None:
    clock.stop_at(AT_NIGHT)
    sale = awake.accept(**SALE)
    choose(awake, HOURS)

    consume()

    check_put_off(sale)


def test_a_retry_that_falls_into_quiet_hours_waits_too_and_has_its_whole_window(
    sleeper: Api, consume: Callable[[], None], clock: Clock
) -> None:
    """B70. The window of marketing is shorter than the night."""
    clock.stop_at(AT_TEN - SECOND)
    recipient = {"user_id": USER, "email": "transient+2@simulate.example"}
    fails = sleeper.accept(**{**SALE, "recipient": recipient, "channels": ["email"]})
    consume()
    assert standing(fails) == ("pending", "transient_error")
    clock.stop_at(AT_TEN + MINUTE)
    consume()
    check_put_off(fails, attempts=1)

    clock.stop_at(IN_THE_MORNING)
    consume()
    assert standing(fails) == ("pending", "transient_error")
    clock.stop_at(IN_THE_MORNING + HOUR)
    consume()

    assert calls(fails) == [
        AT_TEN - SECOND,
        IN_THE_MORNING,
        IN_THE_MORNING + HOUR,
    ]
    assert standing(fails) == ("sent", "")


def test_whoever_has_moved_is_left_alone_until_it_is_morning_there(
    sleeper: Api, consume: Callable[[], None], clock: Clock
) -> None:
    clock.stop_at(AT_NIGHT)
    waits = sleeper.accept(**SALE)
    register(sleeper, zone="Europe/London")
    in_london = IN_THE_MORNING + 6 * HOUR  # eight o'clock, in summer

    clock.stop_at(IN_THE_MORNING)
    consume()
    assert (standing(waits), due_at(waits)) == (WAITS, in_london)
    clock.stop_at(in_london)
    consume()

    assert calls(waits) == [in_london]


def test_quiet_hours_that_were_made_longer_are_kept_to_their_new_end(
    sleeper: Api, consume: Callable[[], None], clock: Clock
) -> None:
    clock.stop_at(AT_NIGHT)
    waits = sleeper.accept(**SALE)
    choose(sleeper, {**HOURS, "end": "08:30"})

    clock.stop_at(IN_THE_MORNING)
    consume()
    assert calls(waits) == []
    clock.stop_at(IN_THE_MORNING + 30 * MINUTE)
    consume()

    assert calls(waits) == [IN_THE_MORNING + 30 * MINUTE]


def test_what_expires_before_they_end_is_due_at_its_expiry_and_says_why(
    sleeper: Api, consume: Callable[[], None], clock: Clock
) -> None:
    expires_at = AT_NIGHT + HOUR
    lost = sleeper.accept(**SALE, expires_at=expires_at.isoformat())
    clock.stop_at(AT_NIGHT)
    consume()
    assert (standing(lost), due_at(lost)) == (WAITS, expires_at)
    assert snoozed(lost) == [("worker", "quiet_hours", expires_at.isoformat())]

    clock.stop_at(expires_at)
    consume()

    assert standing(lost) == ("expired", "expired_in_quiet_hours")
    assert calls(lost) == []


@pytest.mark.parametrize(
    ("expires_at", "reason"),
    [
        (AT_TEN, "expired"),
        (AT_TEN + SECOND, "expired_in_quiet_hours"),
        (IN_THE_MORNING, "expired_in_quiet_hours"),
        (IN_THE_MORNING + SECOND, "expired"),
    ],
)
def test_the_last_moment_at_which_it_was_good_decides_what_is_said(
    sleeper: Api,
    consume: Callable[[], None],
    clock: Clock,
    expires_at: datetime,
    reason: str,
) -> None:
    lost = sleeper.accept(**SALE, expires_at=expires_at.isoformat())

    clock.stop_at(IN_THE_MORNING + SECOND)
    consume()

    assert standing(lost) == ("expired", reason)


def test_a_dead_letter_replayed_in_quiet_hours_waits_as_well(
    sleeper: Api, acme: Any, consume: Callable[[], None], clock: Clock
) -> None:
    recipient = {"user_id": USER, "email": "account-fault@simulate.example"}
    parked = sleeper.accept(**{**SALE, "recipient": recipient, "channels": ["email"]})
    consume()
    assert standing(parked) == ("parked", "account_fault")
    clock.stop_at(AT_NIGHT)
    replay_all(acme.pk)

    consume()

    assert (standing(parked), due_at(parked)) == (WAITS, IN_THE_MORNING)
    assert calls(parked) == [AT_NOON]


def replay_all(tenant_id: int) -> None:
    letters = [row["delivery_id"] for row in query("SELECT * FROM dead_letter")]
    replayed = replay(letters, tenant_ids=[tenant_id], actor="staff:an")
    assert replayed["replayed"] == 1


@pytest.mark.parametrize("moves", ["preferences", "clock"])
def test_quiet_hours_that_begin_right_behind_the_claim_are_kept(
    awake: Api,
    clock: Clock,
    consumer_process: Callable[..., Popen[str]],
    moves: str,
) -> None:
    """What the claim did not see since it came before its COMMIT is seen behind it."""
    if moves == "clock":
        choose(awake, HOURS)
    clock.stop_at(AT_TEN - SECOND if moves == "clock" else AT_NIGHT)
    sale = awake.accept(**SALE)
    process = consumer_process("--once", NOTIFY_FAILPOINTS="consumer.after_claim=stop")
    wait_until_stopped(process.pid)
    assert standing(sale)[0] == "sending"
    if moves == "clock":
        clock.stop_at(AT_TEN)
    else:
        choose(awake, HOURS)

    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)

    check_put_off(sale)


def test_quiet_hours_that_begin_while_a_call_waits_for_its_turn_are_kept(
    sleeper: Api, clock: Clock
) -> None:
    clock.stop_at(AT_TEN - SECOND)
    sale = sleeper.accept(**SALE)
    (claimed,) = claim()
    # As if it had waited for quota: the monotonic clock carries the claim's time on.
    waited = replace(claimed, claimed_at=claimed.claimed_at - 2)

    settle_batch([asyncio.run(try_to_send(waited))])

    assert (standing(sale), calls(sale)) == (WAITS, [])
    assert due_at(sale) == IN_THE_MORNING


def claim() -> list[Outgoing]:
    with closing(PostgresTransport(ALL)) as transport:
        room = Room(total=10, beside_high=10, by_lane=dict.fromkeys(LANES, 10))
        batch = claim_batch(transport, room=room, health=Gateway().health)
    return batch.outgoing


async def try_to_send(outgoing: Outgoing) -> Settlement:
    gateway = Gateway()
    try:
        return await send(outgoing, gateway=gateway, lease=ALL.lease, spread=0.5)
    finally:
        await gateway.aclose()


def test_what_waited_is_released_within_half_an_hour_after_their_end(
    sleeper: Api, consume: Callable[[], None], clock: Clock, monkeypatch: Any
) -> None:
    """Put off at acceptance or in the claim, it is due at the person's own moment."""
    monkeypatch.setattr(settings, "QUIET_HOURS_SPREAD", timedelta(minutes=30))
    clock.stop_at(AT_TEN - SECOND)
    late = sleeper.accept(**SALE)
    clock.stop_at(AT_NIGHT)
    at_night = sleeper.submit(**{**SALE, "idempotency_key": "night"})
    consume()

    (decision,) = at_night.json()["decisions"]
    assert datetime.fromisoformat(decision["until"]) == IN_THE_MORNING
    moment = due_at(at_night.json()["notification_id"])
    assert IN_THE_MORNING < moment < IN_THE_MORNING + 30 * MINUTE
    assert due_at(late) == moment
    clock.stop_at(moment - SECOND)
    consume()
    assert calls(late) == []
    clock.stop_at(moment)
    consume()
    assert calls(late) == [moment]


def test_what_expires_before_the_spread_is_over_is_sent_in_time(
    sleeper: Api, consume: Callable[[], None], clock: Clock, monkeypatch: Any
) -> None:
    monkeypatch.setattr(settings, "QUIET_HOURS_SPREAD", timedelta(minutes=30))
    clock.stop_at(AT_NIGHT)
    expires_at = IN_THE_MORNING + MINUTE
    waits = sleeper.accept(**SALE, expires_at=expires_at.isoformat())

    clock.stop_at(IN_THE_MORNING + MINUTE / 2)
    consume()

    (sent_at,) = calls(waits)
    assert sent_at < expires_at
