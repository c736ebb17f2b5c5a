"""The gateway bounds calls in number and time, and turns faults into results."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import ClassVar

import pytest

from providers.base import Adapter, SendResult, Verdict
from providers.channels import Channel
from providers.gateway import Gateway
from tests.factories.providers import OutboundMessageFactory


class Paused(Adapter):
    """Answers when the test lets it, and notes how many wait at the same time."""

    channels = frozenset({Channel.EMAIL})
    opened: ClassVar[list[Paused]] = []

    def __init__(self) -> None:
        self.waiting = 0
        self.most_waiting = 0
        self.closed = False
        self.released = asyncio.Event()
        self.full = asyncio.Event()
        self.opened.append(self)

    async def send(self, message) -> SendResult:
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        if self.waiting == 2:
            self.full.set()
        await self.released.wait()
        self.waiting -= 1
        return Verdict.ACCEPTED.result()

    async def aclose(self) -> None:
        self.closed = True


class Broken(Adapter):
    """Has a bug."""

    channels = frozenset(Channel)

    async def send(self, message) -> SendResult:
        raise ZeroDivisionError


def paused(gateway: Gateway, alias: str = "paused") -> Paused:
    adapter = gateway.account(alias).adapter
    assert isinstance(adapter, Paused)
    return adapter


@pytest.fixture(autouse=True)
def accounts(settings):
    Paused.opened.clear()
    paused, broken = f"{__name__}.Paused", f"{__name__}.Broken"
    settings.PROVIDERS = {
        "paused": {
            "BACKEND": paused,
            "CONCURRENCY": 2,
            "TIMEOUT": 10,
            "RATE": None,
            "BREAKER": None,
        },
        "brief": {
            "BACKEND": paused,
            "CONCURRENCY": 1,
            "TIMEOUT": 0.05,
            "PATIENCE": 0.05,
            "RATE": None,
            "BREAKER": None,
        },
        "broken": {"BACKEND": broken, "CONCURRENCY": 1, "RATE": None, "BREAKER": None},
    }


def test_account_is_called_by_as_many_as_it_allows():
    async def scenario():
        gateway = Gateway()
        message = OutboundMessageFactory.build()
        calls = [
            asyncio.create_task(gateway.send(message, alias="paused")) for _ in range(5)
        ]
        adapter = paused(gateway)
        await adapter.full.wait()
        adapter.released.set()
        return adapter, await asyncio.gather(*calls)

    adapter, results = asyncio.run(scenario())

    assert adapter.most_waiting == 2
    assert [result.outcome for result in results] == ["accepted"] * 5


def test_call_that_takes_too_long_has_an_unknown_outcome():
    result = asyncio.run(Gateway().send(OutboundMessageFactory.build(), alias="brief"))

    assert result == Verdict.UNKNOWN.result(code="timeout")


def test_call_that_got_no_slot_was_not_sent():
    async def scenario():
        gateway = Gateway()
        turns = gateway._opened("brief").turns
        await turns.take()
        refused = await gateway.send(OutboundMessageFactory.build(), alias="brief")
        turns.release()
        return refused, paused(gateway, "brief")

    result, adapter = asyncio.run(scenario())

    assert not result.is_called
    assert (result.outcome, result.code) == ("rate_limited", "account_busy")
    assert result.retry_after == timedelta(seconds=0.05)
    assert adapter.most_waiting == 0


@pytest.mark.parametrize("alias", ["brief", "broken"])
def test_slot_comes_back_after_a_timeout_and_after_a_bug(alias):
    async def scenario():
        gateway = Gateway()
        calls = [
            gateway.send(OutboundMessageFactory.build(), alias=alias) for _ in range(2)
        ]
        await asyncio.gather(*calls, return_exceptions=True)
        return gateway._opened(alias).turns.is_full

    assert asyncio.run(scenario()) is False


class TooLate(Exception):
    """The lease is over."""


def test_last_check_is_made_with_the_slot_in_hand_and_stops_the_call():
    async def scenario():
        gateway = Gateway()
        turns = gateway._opened("brief").turns

        def refuse():
            assert turns.is_full
            raise TooLate

        with pytest.raises(TooLate):
            await gateway.send(
                OutboundMessageFactory.build(), alias="brief", just_before=refuse
            )
        return turns.is_full, paused(gateway, "brief").most_waiting

    assert asyncio.run(scenario()) == (False, 0)


def test_cancelled_call_stays_cancelled():
    async def scenario():
        gateway = Gateway()
        message = OutboundMessageFactory.build()
        calls = [
            asyncio.create_task(gateway.send(message, alias="paused")) for _ in range(2)
        ]
        await paused(gateway).full.wait()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return [call.cancelled() for call in calls]

    assert asyncio.run(scenario()) == [True, True]


def test_bug_in_an_adapter_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        asyncio.run(Gateway().send(OutboundMessageFactory.build(), alias="broken"))


def test_alias_that_is_not_in_the_settings_parks():
    result = asyncio.run(Gateway().send(OutboundMessageFactory.build(), alias="nobody"))

    assert result == Verdict.ACCOUNT_FAULT.result(code="unknown_provider")


def test_channel_that_the_adapter_does_not_serve_parks():
    message = OutboundMessageFactory.build(channel=Channel.SMS)

    result = asyncio.run(Gateway().send(message, alias="paused"))

    assert result == Verdict.ACCOUNT_FAULT.result(code="channel_not_served")


def test_gateway_opens_an_account_once_and_closes_it():
    async def scenario():
        gateway = Gateway()
        adapters = {paused(gateway) for _ in range(3)}
        await gateway.aclose()
        return adapters

    adapters = asyncio.run(scenario())

    assert list(adapters) == Paused.opened
    assert adapters.pop().closed
