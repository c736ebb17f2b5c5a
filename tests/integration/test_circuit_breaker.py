"""Several workers' breakers of one account, on a real Valkey, with a real provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from redis import Redis

from providers.base import SendResult
from providers.channels import Channel
from providers.circuit.board import Board, BreakerPolicy, Report
from providers.gateway import Gateway
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.http import Answer, HttpStub
from tests.stubs.server import Hang

ACCEPTED = Answer(202, {"id": "m-1"})
RECOVERY = 0.4
LEAST = 10
QUICK: dict[str, Any] = {
    "least_calls": LEAST,
    "recovery": timedelta(seconds=RECOVERY),
    "longest_recovery": timedelta(seconds=4 * RECOVERY),
}


@pytest.fixture
def alias(settings):
    """Have no other test's breaker."""
    return f"acme-{uuid4().hex[:8]}"


@asynccontextmanager
async def provider(settings, alias, *, workers=1, **entry):
    """Run a stub, and gateways that call it."""
    with HttpStub() as stub:
        settings.PROVIDERS = {
            alias: {
                "BACKEND": "providers.http.HttpAdapter",
                "OPTIONS": {"url": stub.url},
                "RATE": None,
                "PATIENCE": 5,
                "BREAKER": QUICK,
                **entry,
            }
        }
        gateways = [Gateway() for _ in range(workers)]
        try:
            yield stub, gateways
        finally:
            for gateway in gateways:
                await gateway.aclose()


async def send(gateway: Gateway, alias: str) -> SendResult:
    message = OutboundMessageFactory.build(channel=Channel.SMS, address="+84901234567")
    return await gateway.send(message, alias=alias)


async def until(fact: Callable[[], bool], *, seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.01)


async def broken(stub: HttpStub, gateways: list[Gateway], alias: str) -> None:
    """Let the first worker meet so many failures that all hold back."""
    stub.always(Answer(503))
    for _ in range(LEAST):
        await send(gateways[0], alias)
    await until(lambda: alias in gateways[0].health().resting)


def test_failures_of_one_worker_hold_back_all(settings, alias):
    async def scenario():
        async with provider(settings, alias, workers=3) as (stub, gateways):
            # Every worker that has called it asks now and then.
            for gateway in gateways:
                await send(gateway, alias)
            await broken(stub, gateways, alias)
            await until(lambda: all(each.health().resting for each in gateways))

    asyncio.run(scenario())


def test_while_it_is_open_one_probe_at_a_time_is_made_by_all_workers_together(
    settings, alias
):
    async def scenario():
        async with provider(settings, alias, workers=3) as (stub, gateways):
            for gateway in gateways:
                await send(gateway, alias)
            await broken(stub, gateways, alias)
            await until(lambda: all(each.health().resting for each in gateways))
            stub.always(Hang())
            before = len(stub.calls)
            waiting = [
                asyncio.create_task(send(gateway, alias))
                for gateway in gateways
                for _ in range(10)
            ]
            await until(lambda: len(stub.calls) > before)
            await asyncio.sleep(2 * RECOVERY)
            assert len(stub.calls) == before + 1
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(scenario())


def test_good_probes_close_it_and_who_waited_is_sent(settings, alias):
    async def scenario():
        async with provider(settings, alias, workers=2) as (stub, gateways):
            for gateway in gateways:
                await send(gateway, alias)
            await broken(stub, gateways, alias)
            waiting = [
                asyncio.create_task(send(gateway, alias))
                for gateway in gateways
                for _ in range(20)
            ]
            stub.always(ACCEPTED)
            results = await asyncio.gather(*waiting)
            assert {result.outcome for result in results} == {"accepted"}
            await until(lambda: not any(each.health().resting for each in gateways))

    asyncio.run(scenario())


def test_a_bad_probe_keeps_it_open_for_twice_as_long(settings, alias):
    async def scenario():
        async with provider(settings, alias) as (stub, [gateway]):
            await broken(stub, [gateway], alias)
            waiting = [asyncio.create_task(send(gateway, alias)) for _ in range(5)]
            before = len(stub.calls)
            times: list[float] = []
            while len(times) < 3:
                await until(lambda: len(stub.calls) > before + len(times))
                times.append(time.monotonic())
            stub.always(ACCEPTED)
            await asyncio.gather(*waiting)
            assert times[1] - times[0] >= 2 * RECOVERY - 0.1
            assert times[2] - times[1] >= 4 * RECOVERY - 0.1

    asyncio.run(scenario())


def test_a_provider_that_hangs_is_left_alone_before_its_calls_time_out(settings, alias):
    async def scenario():
        policy = {**QUICK, "slow_after": timedelta(seconds=0.3)}
        async with provider(settings, alias, TIMEOUT=20, BREAKER=policy) as (
            stub,
            [gateway],
        ):
            stub.always(Hang())
            begun = time.monotonic()
            calls = [asyncio.create_task(send(gateway, alias)) for _ in range(20)]
            await until(lambda: alias in gateway.health().resting)
            assert time.monotonic() - begun < 5
            for task in calls:
                task.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(422), id="bad message"),
        pytest.param(Answer(429), id="over the quota"),
        pytest.param(Answer(401), id="account fault"),
    ],
)
def test_answers_that_prove_it_well_never_open_it(settings, alias, answer):
    async def scenario():
        async with provider(settings, alias) as (stub, [gateway]):
            stub.always(answer)
            for _ in range(4 * LEAST):
                result = await send(gateway, alias)
                assert result.outcome not in ("transient_error", "unknown")
            board = Board(url=settings.REDIS_URL)
            decision = await board.report(
                alias,
                Report(well=0, badly=0),
                policy=BreakerPolicy(**QUICK),
                probe_life=1,
            )
            await board.aclose()
            assert not decision.is_open
            assert not gateway.health().resting

    asyncio.run(scenario())


def test_few_failures_among_many_good_calls_do_not_open_it(settings, alias):
    async def scenario():
        async with provider(settings, alias) as (stub, [gateway]):
            for number in range(40):
                stub.queue(Answer(503) if number % 4 == 0 else ACCEPTED)
                await send(gateway, alias)
            await asyncio.sleep(0.3)
            assert not gateway.health().resting

    asyncio.run(scenario())


def test_a_held_call_is_no_attempt_and_stays_away_as_long_as_it_waited(settings, alias):
    async def scenario():
        async with provider(settings, alias, PATIENCE=0.2) as (stub, [gateway]):
            await broken(stub, [gateway], alias)
            result = await send(gateway, alias)
            assert not result.is_called
            assert (result.outcome, result.code) == ("rate_limited", "breaker_open")
            assert result.retry_after == timedelta(seconds=0.2)

    asyncio.run(scenario())


class TooLate(Exception):
    """The message has expired while it waited."""


def test_a_probe_that_is_not_called_lets_the_next_one_probe(settings, alias):
    async def scenario():
        def refuse() -> None:
            raise TooLate

        async with provider(settings, alias) as (stub, [gateway]):
            await broken(stub, [gateway], alias)
            stub.always(ACCEPTED)
            message = OutboundMessageFactory.build(channel=Channel.SMS)
            refused = [
                asyncio.create_task(
                    gateway.send(message, alias=alias, just_before=refuse)
                )
                for _ in range(5)
            ]
            sent = asyncio.create_task(send(gateway, alias))
            begun = time.monotonic()
            assert (await sent).outcome == "accepted"
            assert time.monotonic() - begun < 3 * RECOVERY
            for task in refused:
                with pytest.raises(TooLate):
                    await task

    asyncio.run(scenario())


def test_without_valkey_calls_go_on(settings, alias):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    async def scenario():
        async with provider(settings, alias) as (stub, [gateway]):
            stub.always(Answer(503))
            for _ in range(2 * LEAST):
                assert (await send(gateway, alias)).outcome == "unknown"
            stub.always(ACCEPTED)
            assert (await send(gateway, alias)).outcome == "accepted"

    asyncio.run(scenario())


def test_a_worker_whose_probe_was_overtaken_by_a_flush_probes_again(settings, alias):
    """The board says closed while the probe is still on its way."""

    async def scenario():
        async with provider(settings, alias) as (stub, [gateway]):
            await broken(stub, [gateway], alias)
            stub.always(Hang())
            before = len(stub.calls)
            hanging = asyncio.create_task(send(gateway, alias))
            await until(lambda: len(stub.calls) > before)
            with Redis.from_url(settings.REDIS_URL) as valkey:
                for key in valkey.scan_iter(f"*breaker:{{{alias}}}"):
                    valkey.delete(key)
            await until(lambda: not gateway.health().resting)
            await broken(stub, [gateway], alias)
            stub.always(ACCEPTED)
            assert (await send(gateway, alias)).outcome == "accepted"
            hanging.cancel()
            await asyncio.gather(hanging, return_exceptions=True)

    asyncio.run(scenario())


def test_a_worker_that_starts_during_an_outage_makes_no_call_of_its_own(
    settings, alias
):
    async def scenario():
        slow = {**QUICK, "recovery": timedelta(seconds=30)}
        slow["longest_recovery"] = timedelta(seconds=30)
        async with provider(settings, alias, workers=2, BREAKER=slow, PATIENCE=0.3) as (
            stub,
            gateways,
        ):
            await broken(stub, gateways, alias)
            await asyncio.sleep(0.3)
            before = len(stub.calls)
            result = await send(gateways[1], alias)
            assert (result.is_called, len(stub.calls)) == (False, before)

    asyncio.run(scenario())
