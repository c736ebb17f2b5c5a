"""A provider is away for a day: nothing is lost, and what waited goes out by the quota.

The day passes on the database's clock, two hours at a time; breaker and quota live by
the real one, and are as much quicker.
"""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from uuid import uuid4

import pytest

from benchmarks.figures import most_in_a_second
from tests.acme import provider_settings, query
from tests.kafka import consuming
from tests.stubs.http import Answer, HttpCall, HttpStub
from tests.stubs.server import Close

RATE = 100.0
NORMAL, HIGH = 450, 50
AWAY = {
    "refuses": Answer(503, headers={"Retry-After": "30"}),
    "closes": Close(),
}


@pytest.fixture
def called(settings):
    """Send text messages by an account of its own; note when each call came, and to
    whom."""
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "sms": "acme"}
    with HttpStub() as stub:
        calls: list[tuple[float, str]] = []

        def note(call: HttpCall) -> None:
            calls.append((time.monotonic(), call.json["to"]))

        stub.decide = note
        entry = {
            "BACKEND": "providers.http.HttpAdapter",
            "OPTIONS": {"url": stub.url},
            "RATE": RATE,
            "TIMEOUT": 5.0,
            "PATIENCE": 0.3,
            # It remembers our keys for longer than it is away.
            "IDEMPOTENCY_WINDOW": 48 * 3600,
            "BREAKER": {
                "recovery": timedelta(seconds=0.05),
                "longest_recovery": timedelta(seconds=0.2),
            },
        }
        with provider_settings(acme=entry):
            yield stub, calls


def accept(api, phone, *, priority="normal"):
    return api.accept(
        recipient={"user_id": "usr_x", "phone": phone},
        channels=["sms"],
        priority=priority,
        idempotency_key=uuid4().hex,
    )


def pass_a_day(clock):
    """Let a consumer work for a second of every two hours."""
    for _ in range(13):
        with consuming(window=100):
            time.sleep(1)
        clock.advance(timedelta(hours=2))


def phone(number):
    return f"+849012{number:05}"


def by_status():
    rows = query("SELECT status, count(*) AS number FROM delivery GROUP BY status")
    return {row["status"]: row["number"] for row in rows}


@pytest.mark.parametrize("away", AWAY)
def test_what_waited_for_a_day_goes_out_by_the_quota_and_high_first(
    api, consume, called, clock, settings, away
):
    """F35: nothing transactional fails, though its retry window is a day."""
    stub, calls = called
    stub.always(AWAY[away])
    for number in range(NORMAL):
        accept(api, phone(number))
    for number in range(NORMAL, NORMAL + HIGH):
        accept(api, phone(number), priority="high")

    pass_a_day(clock)

    assert by_status() == {"pending": NORMAL + HIGH}
    attempts = query("SELECT max(attempt_count) AS most FROM delivery")
    assert 0 < attempts[0]["most"] < 50

    settings.PROVIDERS["acme"]["PATIENCE"] = 20.0
    stub.always(Answer(202, {"id": "m"}))
    clock.advance(timedelta(hours=1))
    calls.clear()
    consume()

    assert by_status() == {"sent": NORMAL + HIGH}
    times = [at for at, _ in calls]
    assert len(calls) == NORMAL + HIGH
    assert most_in_a_second(times) <= 1.03 * RATE
    whole = [at for at in times if times[0] + 0.5 <= at < times[-1] - 0.5]
    use = len(whole) / (times[-1] - times[0] - 1) / RATE
    sys.stdout.write(f"\ndrained at {use:.1%} of the quota\n")
    # 98 % alone; beside the rest of the suite the processors are the limit.
    assert use >= 0.8
    high = {phone(number) for number in range(NORMAL, NORMAL + HIGH)}
    last = max(index for index, (_, to) in enumerate(calls) if to in high)
    # While the others starve it has 85 % of the quota, and they a tenth of a claim.
    assert last < 1.5 * HIGH
