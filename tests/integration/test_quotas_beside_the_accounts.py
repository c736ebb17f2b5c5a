"""Limits of a key that several accounts share, of a sender and of a tenant."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import ClassVar
from uuid import uuid4

import pytest

from benchmarks.figures import most_in_a_second
from providers.base import Adapter, OutboundMessage, SendResult, Verdict
from providers.channels import Channel
from providers.gateway import Gateway
from tests.factories.providers import OutboundMessageFactory


class Instant(Adapter):
    """Answers at once and notes when it was asked, by whom, for whom."""

    channels = frozenset(Channel)
    calls: ClassVar[list[tuple[str, int, float]]] = []

    def __init__(self, *, sender: str) -> None:
        self._sender = sender

    async def send(self, message: OutboundMessage) -> SendResult:
        self.calls.append((self._sender, message.tenant_id, time.monotonic()))
        return Verdict.ACCEPTED.result()


@pytest.fixture(autouse=True)
def accounts(settings):
    Instant.calls.clear()
    shared = {
        "BACKEND": f"{__name__}.Instant",
        "QUOTA": f"key-{uuid4().hex}",
        "RATE": 100.0,
        "BREAKER": None,
    }
    settings.PROVIDERS = {
        sender: {**shared, "OPTIONS": {"sender": sender}} for sender in ("ours", "news")
    }
    return settings.PROVIDERS


def send_all(messages: Iterable[tuple[str, int]]) -> None:
    """Send for these accounts and tenants, all at once."""

    async def send() -> None:
        gateway = Gateway()
        try:
            results = await asyncio.gather(
                *(
                    gateway.send(
                        OutboundMessageFactory.build(tenant_id=tenant), alias=alias
                    )
                    for alias, tenant in messages
                )
            )
        finally:
            await gateway.aclose()
        assert {result.outcome for result in results} == {"accepted"}

    asyncio.run(send())


def times_of(*, sender: str = "", tenant: int = 0) -> list[float]:
    return sorted(
        at
        for by, whose, at in Instant.calls
        if sender in ("", by) and tenant in (0, whose)
    )


def test_accounts_of_one_key_share_its_rate():
    send_all([("ours", 1), ("news", 1)] * 110)

    assert most_in_a_second(times_of()) <= 102


def test_a_sender_keeps_to_its_own_rate_within_the_keys(accounts):
    accounts["news"]["SENDER_RATE"] = 20.0

    send_all([("ours", 1)] * 60 + [("news", 1)] * 40)

    assert most_in_a_second(times_of(sender="news")) <= 21
    assert most_in_a_second(times_of(sender="ours")) > 40


def test_a_tenant_at_its_rate_holds_up_no_other(accounts):
    accounts["ours"]["TENANT_RATE"] = 20.0

    send_all([("ours", 1)] * 60 + [("ours", 2)] * 10)

    assert most_in_a_second(times_of(tenant=1)) <= 21
    assert times_of(tenant=2)[-1] < times_of(tenant=1)[25]


def test_lines_of_tenants_that_are_done_are_not_kept(accounts):
    accounts["ours"] |= {"TENANT_RATE": 20.0, "RATE": 5000.0}

    async def send() -> int:
        gateway = Gateway()
        for tenant in range(1, 201):
            message = OutboundMessageFactory.build(tenant_id=tenant)
            await gateway.send(message, alias="ours")
        lines = len(gateway._opened("ours").turns._lines)
        await gateway.aclose()
        return lines

    assert asyncio.run(send()) <= 64
