"""The sandbox records what it would send and behaves as its recipients ask."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import psycopg
import pytest
from django.db import connections

from foundation.ids import new_id, parse_public_id
from foundation.sealing import SealBroken
from providers import sandbox_record
from providers.base import Verdict
from providers.channels import Channel
from providers.models import SandboxMessage
from providers.sandbox import SandboxAdapter
from providers.sandbox_record import read_content
from tests.factories.providers import OutboundMessageFactory
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture
def tenant(committed):
    return TenantFactory.create()


def send(*messages, at_once=False, **options):
    async def run():
        adapter = SandboxAdapter(**options)
        try:
            if at_once:
                return await asyncio.gather(*(adapter.send(m) for m in messages))
            return [await adapter.send(message) for message in messages]
        finally:
            await adapter.aclose()

    return asyncio.run(run())


def recorded(delivery_id):
    return list(
        SandboxMessage.objects.filter(delivery_id=delivery_id)
        .order_by("id")
        .values_list("attempt", "outcome", "accepted")
    )


def outcomes_of(
    tenant, address, *, channel=Channel.EMAIL, attempts=(1, 2, 3), **fields
):
    """Return the delivery id and what each attempt at it came to."""
    delivery_id = new_id()
    messages = [
        OutboundMessageFactory.build(
            tenant_id=tenant.id,
            delivery_id=delivery_id,
            channel=channel,
            address=address,
            attempt=attempt,
            **fields,
        )
        for attempt in attempts
    ]
    return delivery_id, [str(result.outcome) for result in send(*messages)]


def test_accepted_message_can_be_read_back(tenant):
    message = OutboundMessageFactory.build(tenant_id=tenant.id)

    (result,) = send(message)

    row = SandboxMessage.objects.get()
    assert result.outcome == "accepted"
    assert parse_public_id("sbx", result.provider_message_id) == row.id
    assert (row.notification_id, row.delivery_id, row.tenant_id) == (
        message.notification_id,
        message.delivery_id,
        tenant.id,
    )
    assert (row.channel, row.attempt, row.accepted) == (Channel.EMAIL, 1, True)
    content = read_content(row)
    assert content.address == "r2@example.org"
    assert content.parts == message.parts


def test_row_is_there_before_the_answer(tenant):
    async def scenario():
        adapter = SandboxAdapter()
        result = await adapter.send(OutboundMessageFactory.build(tenant_id=tenant.id))
        found = await asyncio.to_thread(_count_in_a_thread)
        await adapter.aclose()
        return result.outcome, found

    assert asyncio.run(scenario()) == ("accepted", 1)


def _count_in_a_thread():
    found = SandboxMessage.objects.count()
    connections.close_all()
    return found


def test_content_is_sealed_and_bound_to_its_row(tenant):
    send(*(OutboundMessageFactory.build(tenant_id=tenant.id) for _ in range(2)))

    first, second = SandboxMessage.objects.order_by("id")
    assert b"r2@example.org" not in bytes(first.sealed)
    assert b"Hello" not in bytes(first.sealed)
    first.sealed = second.sealed
    with pytest.raises(SealBroken):
        read_content(first)


def test_messages_of_one_moment_are_written_together(tenant, monkeypatch):
    batches = []
    insert = sandbox_record._insert

    def counting(attempts):
        batches.append(len(attempts))
        insert(attempts)

    monkeypatch.setattr(sandbox_record, "_insert", counting)
    messages = [OutboundMessageFactory.build(tenant_id=tenant.id) for _ in range(100)]

    results = send(*messages, at_once=True)

    assert {result.outcome for result in results} == {"accepted"}
    assert batches == [100]
    assert SandboxMessage.objects.count() == 100


def test_two_tenants_of_one_batch_have_their_own_keys(tenant):
    other = TenantFactory.create()
    messages = [
        OutboundMessageFactory.build(tenant_id=owner.id) for owner in (tenant, other)
    ]

    send(*messages, at_once=True)

    assert len({read_content(row).address for row in SandboxMessage.objects.all()}) == 1
    row = SandboxMessage.objects.filter(tenant_id=tenant.id).get()
    row.tenant_id = other.id
    with pytest.raises(SealBroken):
        read_content(row)


TRANSIENT_TWICE = {
    Channel.EMAIL: ("transient+2@simulate.example", "usr_42"),
    Channel.SMS: ("+12025550112", "usr_42"),
    Channel.PUSH: ("sandbox-transient-2", "usr_42"),
    Channel.IN_APP: ("", "simulate-transient-2"),
}


@pytest.mark.parametrize("channel", Channel)
def test_transient_recipient_fails_as_often_as_it_says(tenant, channel):
    address, user_id = TRANSIENT_TWICE[channel]

    delivery_id, outcomes = outcomes_of(
        tenant, address, channel=channel, user_id=user_id
    )

    assert outcomes == ["transient_error", "transient_error", "accepted"]
    assert recorded(delivery_id) == [
        (1, "transient_error", False),
        (2, "transient_error", False),
        (3, "accepted", True),
    ]


def test_transient_by_phone_digit_zero_never_ends(tenant):
    _, outcomes = outcomes_of(
        tenant, "+12025550110", channel=Channel.SMS, attempts=(1, 50)
    )

    assert outcomes == ["transient_error", "transient_error"]


def test_rate_limited_recipient_counts_calls_not_attempts(tenant):
    message = OutboundMessageFactory.build(
        tenant_id=tenant.id, address="rate-limited+2@simulate.example", attempt=1
    )

    results = send(message, message, message)

    assert [result.outcome for result in results] == [
        *["rate_limited"] * 2,
        "accepted",
    ]
    assert results[0].retry_after == timedelta(seconds=1)
    assert results[2].retry_after is None


def test_rate_limits_are_counted_over_restarts(tenant):
    message = OutboundMessageFactory.build(
        tenant_id=tenant.id, address="rate-limited@simulate.example"
    )

    outcomes = [send(message)[0].outcome for _ in range(2)]

    assert outcomes == ["rate_limited", "accepted"]


@pytest.mark.parametrize(("attempt", "outcome"), [(1, "unknown"), (2, "accepted")])
def test_timeout_recipient_has_the_message_all_the_same(tenant, attempt, outcome):
    delivery_id, outcomes = outcomes_of(
        tenant, "timeout@simulate.example", attempts=(attempt,)
    )

    assert outcomes == [outcome]
    assert recorded(delivery_id) == [(attempt, outcome, True)]


def test_retry_after_a_timeout_is_recognised_and_reaches_nobody_twice(tenant):
    delivery_id, outcomes = outcomes_of(
        tenant, "timeout@simulate.example", attempts=(1, 2)
    )

    assert outcomes == ["unknown", "accepted"]
    assert recorded(delivery_id) == [(1, "unknown", True), (2, "accepted", False)]


@pytest.mark.parametrize(
    ("channel", "address", "verdict"),
    [
        (Channel.EMAIL, "permanent@simulate.example", Verdict.BAD_RECIPIENT),
        (Channel.PUSH, "sandbox-dead-token", Verdict.DEAD_TOKEN),
        (Channel.EMAIL, "bad-message@simulate.example", Verdict.BAD_MESSAGE),
        (Channel.EMAIL, "account-fault@simulate.example", Verdict.ACCOUNT_FAULT),
        (Channel.SMS, "+12025550171", Verdict.OPTED_OUT),
    ],
)
def test_refusing_recipient_refuses_always(tenant, channel, address, verdict):
    message = OutboundMessageFactory.build(
        tenant_id=tenant.id, channel=channel, address=address
    )

    results = send(message, message)

    assert [(result.outcome, result.scope) for result in results] == [verdict.value] * 2
    assert not any(accepted for _, _, accepted in recorded(message.delivery_id))


@pytest.mark.parametrize("word", ["accept", "slow+0"])
def test_accepting_recipient_accepts(tenant, word):
    address = f"{word}@simulate.example"

    _, outcomes = outcomes_of(tenant, address, attempts=(1,))

    assert outcomes == ["accepted"]


def test_slow_recipient_outlasts_the_account_and_is_not_recorded(tenant):
    async def scenario():
        adapter = SandboxAdapter()
        message = OutboundMessageFactory.build(
            tenant_id=tenant.id, address="slow+60@simulate.example"
        )
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await adapter.send(message)
        await adapter.aclose()

    asyncio.run(scenario())

    assert not SandboxMessage.objects.exists()


@pytest.mark.parametrize(("rate", "failed"), [(0.0, 0), (0.1, 40), (1.0, 400)])
def test_transient_rate_is_a_share_of_the_attempts(tenant, rate, failed):
    messages = [OutboundMessageFactory.build(tenant_id=tenant.id) for _ in range(400)]

    results = send(*messages, at_once=True, transient_rate=rate)

    share = [result.outcome for result in results].count("transient_error")
    assert share == pytest.approx(failed, abs=30 if 0 < rate < 1 else 0)


def test_transient_rate_strikes_the_same_attempts_again(tenant):
    messages = [OutboundMessageFactory.build(tenant_id=tenant.id) for _ in range(50)]

    results = send(*messages, transient_rate=0.5, at_once=True)
    struck = [
        message
        for message, result in zip(messages, results, strict=True)
        if result.outcome == "transient_error"
    ]
    again = send(*struck, transient_rate=0.5, at_once=True)

    assert 0 < len(struck) < 50
    assert {result.outcome for result in again} == {"transient_error"}


def test_transient_rate_leaves_test_recipients_alone(tenant):
    message = OutboundMessageFactory.build(
        tenant_id=tenant.id, address="accept@simulate.example"
    )

    (result,) = send(message, transient_rate=1.0)

    assert result.outcome == "accepted"


@pytest.fixture
def drop(database_env):
    """Return a function that ends the record's connection when it waits for this."""

    def end(waits_for):
        with psycopg.connect(database_env["DATABASE_URL"], autocommit=True) as app:
            deadline = time.monotonic() + 10
            while not app.execute(DROP_RECORD, [waits_for]).fetchall():
                assert time.monotonic() < deadline, f"nobody waits for a {waits_for}"

    return end


DROP_RECORD = """
SELECT pg_terminate_backend(newest.pid)
FROM (SELECT pid, wait_event_type FROM pg_stat_activity
      WHERE datname = current_database() AND usename = current_user
        AND pid <> pg_backend_pid() ORDER BY backend_start DESC LIMIT 1) newest
WHERE wait_event_type = %s
"""


def test_database_lost_while_recording_leaves_an_unknown(tenant, owner, drop):
    async def scenario():
        adapter = SandboxAdapter()
        message = OutboundMessageFactory.build(tenant_id=tenant.id)
        with owner.transaction():
            owner.execute("LOCK TABLE sandbox_message")
            call = asyncio.create_task(adapter.send(message))
            await asyncio.to_thread(drop, "Lock")
        result = await call
        await adapter.aclose()
        return result

    assert asyncio.run(scenario()) == Verdict.UNKNOWN.result(code="sandbox_record")


def test_connection_that_the_server_dropped_is_replaced(tenant, drop):
    async def scenario():
        adapter = SandboxAdapter()
        messages = [OutboundMessageFactory.build(tenant_id=tenant.id) for _ in range(2)]
        first = await adapter.send(messages[0])
        await asyncio.to_thread(drop, "Client")
        second = await adapter.send(messages[1])
        await adapter.aclose()
        return [first.outcome, second.outcome]

    assert asyncio.run(scenario()) == ["accepted", "accepted"]
