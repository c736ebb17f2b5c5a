"""A look-up has a turn, a time limit and a say about the account's health."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from providers.base import Finding
from providers.channels import Channel
from providers.gateway import Gateway
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.server import Hang
from tests.stubs.twilio import ACCOUNT_SID, TwilioStub, refused

SMS = OutboundMessageFactory.build(channel=Channel.SMS)
SINCE = datetime.now(tz=UTC)


@pytest.fixture
def stub():
    with TwilioStub() as started:
        yield started


@pytest.fixture
def alias(stub, settings):
    """Have an account that no other test has used."""
    name = f"twilio-{uuid4().hex[:8]}"
    settings.PROVIDERS = {
        name: {
            "BACKEND": "providers.sms.twilio.TwilioAdapter",
            "OPTIONS": {
                "account_sid": ACCOUNT_SID,
                "auth_token": "secret",
                "sender": "+15005550006",
                "url": stub.origin,
            },
            "RATE": None,
            "PATIENCE": 0.05,
            "BREAKER": None,
        },
        "http": {
            "BACKEND": "providers.http.HttpAdapter",
            "OPTIONS": {"url": stub.url},
            "BREAKER": None,
        },
    }
    return name


def find(alias, *, times=1, just_before=lambda: None, taken=0):
    """Look up in a gateway of which some places are taken already."""

    async def scenario():
        gateway = Gateway()
        for _ in range(taken):
            await gateway._opened(alias).turns.take()
        answers = [
            await gateway.find(SMS, alias=alias, since=SINCE, just_before=just_before)
            for _ in range(times)
        ]
        deadline = time.monotonic() + 5
        while times > 1 and not gateway.health().resting:
            assert time.monotonic() < deadline, "it goes on"
            await asyncio.sleep(0.01)
        for _ in range(taken):
            gateway._opened(alias).turns.release()
        await gateway.aclose()
        return answers[-1]

    return asyncio.run(scenario())


def change(settings, alias, **changes):
    settings.PROVIDERS[alias] = {**settings.PROVIDERS[alias], **changes}


def test_no_place_is_no_look_up(stub, settings, alias):
    change(settings, alias, CONCURRENCY=1)

    found = find(alias, taken=1)

    assert (found.finding, found.code) == (Finding.CANNOT_TELL, "account_busy")
    assert not found.is_called
    assert stub.calls == []


def test_look_up_that_takes_too_long_cannot_tell(stub, settings, alias):
    change(settings, alias, TIMEOUT=0.05)
    stub.always(Hang(), stage="list")

    found = find(alias)

    assert (found.finding, found.code) == (Finding.CANNOT_TELL, "timeout")
    assert found.is_called


def test_look_ups_that_go_badly_open_the_breaker(stub, settings, alias):
    change(settings, alias, BREAKER={"least_calls": 10})
    stub.always(refused(500, 20500), stage="list")

    assert find(alias, times=10).finding is Finding.CANNOT_TELL


class TooLate(Exception):
    """The lease is over."""


def test_last_check_stops_the_look_up(stub, alias):
    def refuse():
        raise TooLate

    with pytest.raises(TooLate):
        find(alias, just_before=refuse)
    assert stub.calls == []


@pytest.mark.parametrize("unable", ["http", "nobody"])
def test_who_cannot_look_up_cannot_tell(stub, alias, unable):
    assert find(unable).finding is Finding.CANNOT_TELL
    assert stub.calls == []
