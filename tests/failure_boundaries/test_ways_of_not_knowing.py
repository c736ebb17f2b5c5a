"""Every way of not knowing, by category and channel: nothing is called failed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

import pytest

from audit.timeline import timeline
from foundation import failpoints
from foundation.ids import parse_public_id
from providers.channels import Channel
from tenants.categories import Category
from tests.acme import deliveries, provider_settings, query
from tests.stubs.http import Answer, HttpStub
from tests.stubs.server import Close, Hang

CHANNELS = ["email", "sms", "push"]
WAIT = timedelta(minutes=5, seconds=1)

# What is told of a provider without a memory that never answers, and in which attempt:
# what has no number is the end of a wait, and no try.
RETRIED_AT_ONCE = [("retried", 1), ("parked", 2)]
WAITED_AND_RETRIED = [("retried", 1), ("snoozed", None), ("parked", 2)]
WAITED_AND_PARKED = [("retried", 1), ("parked", None)]
PARKED = [("parked", 1)]
Told: TypeAlias = list[tuple[str, object]]


def expected(category: Category, channel: str) -> Told:
    match category:
        case Category.OTP:
            return [*RETRIED_AT_ONCE]
        case Category.MARKETING:
            return [*PARKED]
        case _ if channel == "sms":
            return [*WAITED_AND_PARKED]
        case _:
            return [*WAITED_AND_RETRIED]


def expected_of_lost(category: Category, channel: str) -> Told:
    """Return the same where nobody heard of the first attempt again."""
    (kind, _), *rest = expected(category, channel)
    follows = "snoozed" if kind == "retried" else kind
    return [("attempt_lost", 1), (follows, None), *rest]


@pytest.fixture
def everything(api, committed) -> dict[Category, str]:
    """Accept a notification of each category on each channel."""
    ids = {
        category: api.accept(idempotency_key=f"key-{category}", channels=CHANNELS)
        for category in Category
    }
    for category, notification_id in ids.items():
        query(
            "UPDATE delivery SET category = %s WHERE notification_id = %s RETURNING 1",
            category.value,
            parse_public_id("ntf", notification_id),
        )
    return ids


@pytest.fixture
def silent(settings):
    """Have a provider with no memory that never says what it did."""
    settings.PROVIDER_ROUTES = {
        **settings.PROVIDER_ROUTES,
        **dict.fromkeys(CHANNELS, "http"),
    }

    with HttpStub() as stub:
        stub.always(Close())
        entry = {
            "BACKEND": "providers.http.HttpAdapter",
            "OPTIONS": {"url": stub.url},
            "TIMEOUT": 1.0,
            "IDEMPOTENCY_WINDOW": 0,
            "BREAKER": None,
        }
        with provider_settings(http=entry):
            yield stub


def run_to_the_end(consume, clock) -> None:
    for _ in range(4):
        consume()
        clock.advance(WAIT)


def told(tenant, notification_id: str) -> dict[str, Told]:
    """Read each channel's part of the timeline: what happened, and in which attempt."""
    identifier = parse_public_id("ntf", notification_id)
    found: dict[str, Told] = {}
    for event in timeline(tenant_id=tenant.pk, notification_id=identifier):
        if event.delivery_id is not None:
            kind = event.kind.removeprefix("delivery.")
            entry = (kind, event.detail.get("attempt"))
            found.setdefault(event.detail["channel"], []).append(entry)
    return found


def all_parked(ids: dict[Category, str]) -> None:
    for notification_id in ids.values():
        for delivery in deliveries(notification_id):
            assert delivery["maybe_sent"]
            where = (delivery["status"], delivery["reason"])
            assert where == ("parked", "outcome_unknown")


def check_timeline(tenant, ids, wanted: Callable[[Category, str], Told]) -> None:
    for category, notification_id in ids.items():
        for channel, events in told(tenant, notification_id).items():
            assert events == wanted(category, channel), (category, channel)


@pytest.mark.parametrize(
    "step",
    [Hang(), Close(), *[Answer(status) for status in (500, 502, 503, 504)]],
    ids=["timeout", "reset", "500", "502", "503", "504"],
)
def test_no_silence_of_a_provider_ends_in_failed(
    everything, silent, acme, consume, clock, step
):
    silent.always(step)

    run_to_the_end(consume, clock)

    all_parked(everything)
    check_timeline(acme, everything, expected)
    assert len(silent.calls) == 6 + 5 + 3


def killed(consumer_process) -> None:
    process = consumer_process(
        "--once", NOTIFY_FAILPOINTS="consumer.before_settle=kill"
    )
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


@pytest.fixture
def lose_reply(monkeypatch) -> Callable[[str], None]:
    """Lose the reply to the next COMMIT before a failpoint."""

    def lose(name: str) -> None:
        monkeypatch.setitem(failpoints._POINTS, name, ("away", 1))
        failpoints._passes[name] = 0

    return lose


@pytest.fixture(params=["killed", "reply_of_claim"])
def vanish(request, everything, silent, consume, consumer_process, lose_reply) -> None:
    """Claim all of it and never be heard of again."""
    if request.param == "killed":
        killed(consumer_process)
    else:
        lose_reply("consumer.after_claim")
        consume()
    statuses = query("SELECT status FROM delivery")
    assert [row["status"] for row in statuses] == ["sending"] * 9


@pytest.mark.usefixtures("vanish")
def test_no_worker_that_vanishes_ends_in_failed(everything, acme, consume, clock):
    clock.advance(timedelta(seconds=61))
    run_to_the_end(consume, clock)

    all_parked(everything)
    check_timeline(acme, everything, expected_of_lost)


def test_a_lost_reply_to_the_commit_of_a_settlement_changes_nothing(
    everything, silent, acme, consume, clock, lose_reply
):
    """The settlement is made again, and finds that it was made."""
    lose_reply("consumer.after_settle")

    run_to_the_end(consume, clock)

    all_parked(everything)
    answers = query(
        "SELECT kind, detail ->> 'outcome' AS outcome FROM audit_event"
        " WHERE kind = 'delivery.late_answer'"
    )
    assert answers != []
    assert {row["outcome"] for row in answers} == {"unknown"}
    for category, notification_id in everything.items():
        for channel, events in told(acme, notification_id).items():
            known = [each for each in events if each[0] != "late_answer"]
            assert known == expected(category, channel), (category, channel)


def test_channels_are_all_that_leave_the_process():
    assert {*CHANNELS, "in_app"} == {channel.key for channel in Channel}
