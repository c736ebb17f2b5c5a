"""Several providers serve a channel: one stands in for the other, but never where the
other may have taken the message."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import uuid4

import pytest

from notifications.management.commands.consume_deliveries import build_consumer
from notifications.worker import Stop
from providers.account_faults import FIRST_PROBE
from tests.acme import ALL, deliveries, provider_settings, query
from tests.stubs.http import Answer, HttpStub
from tests.stubs.server import Close

# With Retry-After it is documented as not processed; without, nobody knows.
UNAVAILABLE = Answer(503, headers={"Retry-After": "1"})
REFUSED = Answer(401)
OVER = timedelta(minutes=20)


@pytest.fixture
def both(settings) -> Iterator[tuple[HttpStub, HttpStub]]:
    """Send text messages by a first provider, with a second one standing in."""
    settings.PROVIDER_ROUTES = {
        **settings.PROVIDER_ROUTES,
        "sms": [{"first": 1}, {"second": 1}],
    }
    with HttpStub() as first, HttpStub() as second:
        entries = {
            name: {
                "BACKEND": "providers.http.HttpAdapter",
                "OPTIONS": {"url": stub.url},
                "TIMEOUT": 5.0,
                "PATIENCE": 5.0,
                "BREAKER": {"least_calls": 10, "recovery": timedelta(seconds=0.3)},
            }
            for name, stub in (("first", first), ("second", second))
        }
        with provider_settings(**entries):
            yield first, second


def accept(api, **fields):
    return api.accept(
        recipient={"user_id": "usr_x", "phone": "+84901234567"},
        channels=["sms"],
        idempotency_key=uuid4().hex,
        **fields,
    )


def standing(notification_id):
    (delivery,) = deliveries(notification_id)
    return delivery["status"], delivery["provider"], delivery["attempt_count"]


def test_the_second_has_nothing_to_do_while_the_first_does_its_work(api, consume, both):
    first, second = both
    sent = [accept(api) for _ in range(5)]

    consume()

    assert {standing(each) for each in sent} == {("sent", "first", 1)}
    assert (len(first.calls), len(second.calls)) == (5, 0)


def test_a_transient_failure_moves_on_at_once_and_each_attempt_is_told(
    api, consume, both
):
    first, second = both
    first.always(UNAVAILABLE)
    notification_id = accept(api)

    consume()

    assert standing(notification_id) == ("sent", "second", 2)
    assert (len(first.calls), len(second.calls)) == (1, 1)
    rows = query(
        "SELECT reason, detail->>'provider' AS provider FROM audit_event"
        " WHERE kind IN ('delivery.retried', 'delivery.sent') ORDER BY id"
    )
    assert rows == [
        {"reason": "failed_over", "provider": "first"},
        {"reason": "", "provider": "second"},
    ]


def test_when_both_have_failed_it_backs_off_before_the_next_round(
    api, consume, both, clock
):
    first, second = both
    first.always(UNAVAILABLE)
    second.always(UNAVAILABLE)
    notification_id = accept(api)

    consume()
    assert standing(notification_id) == ("pending", "second", 2)
    assert deliveries(notification_id)[0]["reason"] == "transient_error"
    clock.advance(OVER)
    consume()

    assert standing(notification_id) == ("pending", "second", 4)
    assert (len(first.calls), len(second.calls)) == (2, 2)


def test_an_unknown_outcome_never_moves_on(api, consume, both, clock):
    """An OTP is repeated, but to whom may have it already."""
    first, second = both
    first.queue(Close())
    notification_id = accept(
        api, template={"name": "login_code"}, variables={"code": "1"}
    )

    consume()
    assert deliveries(notification_id)[0]["maybe_sent"]
    clock.advance(timedelta(seconds=20))
    consume()

    assert standing(notification_id) == ("sent", "first", 2)
    assert (len(first.calls), len(second.calls)) == (2, 0)


def test_an_account_that_refuses_us_is_passed_over(api, consume, both):
    first, _ = both
    first.always(REFUSED)
    refused = accept(api)
    consume()
    others = [accept(api) for _ in range(4)]

    consume()

    assert standing(refused) == ("sent", "second", 2)
    assert {standing(each) for each in others} == {("sent", "second", 1)}
    assert len(first.calls) == 1


def test_an_account_that_is_passed_over_is_probed_and_comes_back(
    api, consume, both, clock
):
    first, _ = both
    first.queue(REFUSED)
    accept(api)
    consume()
    clock.advance(FIRST_PROBE)
    probe, beside = accept(api), accept(api)
    consume()
    back = accept(api)

    consume()

    assert sorted(standing(each)[1] for each in (probe, beside)) == ["first", "second"]
    assert standing(back) == ("sent", "first", 1)


def test_while_the_second_rests_nobody_is_parked_for_the_fault_of_the_first(
    api, consume, both, running_consumer
):
    first, second = both
    first.always(REFUSED)
    accept(api)
    consume()
    second.always(UNAVAILABLE)
    with running_consumer():
        sent = [accept(api) for _ in range(15)]
        second.wait_for_calls(10)
        second.always(Answer(202, {"id": "m"}))
        second.wait_until(
            lambda: all(standing(each)[0] != "sending" for each in sent[-3:]), 5
        )

    assert "parked" not in {standing(each)[0] for each in sent}


def test_with_an_open_breaker_all_goes_to_the_second_and_back_when_it_closes(
    api, both, running_consumer
):
    """Nobody waits for the first one, and some come to see whether it is back."""
    first, second = both
    first.always(UNAVAILABLE)
    with running_consumer():
        sent = [accept(api) for _ in range(12)]
        second.wait_for_calls(12)
        # Only probes go there now, one at a time.
        before = len(first.calls)
        sent += [accept(api) for _ in range(20)]
        second.wait_for_calls(32)
        assert len(first.calls) <= before + 2
        first.always(Answer(202, {"id": "m"}))
        deadline = time.monotonic() + 20
        while standing(sent[-1])[1] != "first":
            assert time.monotonic() < deadline
            sent.append(accept(api))
            second.wait_until(lambda: standing(sent[-1])[0] == "sent")

    assert {standing(each)[0] for each in sent} == {"sent"}


@pytest.fixture
def running_consumer():
    """Run a consumer in a thread of this process."""

    @contextmanager
    def run():
        stop = Stop()
        consumer = build_consumer(ALL, stop=stop, window=50)
        thread = threading.Thread(target=lambda: asyncio.run(consumer.run()))
        thread.start()
        try:
            yield
        finally:
            stop.ask()
            thread.join()

    return run
