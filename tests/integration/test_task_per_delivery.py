"""A task or a job for each delivery leaves what a consumer leaves, or the benchmark
would compare different work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
from pytest_django.fixtures import Settings

from benchmarks.accepted_rows import rows_of
from benchmarks.baselines.task_per_delivery import calling, procrastinate_app
from benchmarks.baselines.task_per_delivery.celery_tasks import deliver_one
from foundation.ids import parse_public_id
from providers.gateway import Gateway
from tests.acme import Api, deliveries, provider_settings
from tests.stubs.http import Answer, HttpStub

Deliver = Callable[[UUID], None]
# By what they lead to; the same of every delivery.
ANSWERS = {
    "sent": Answer(202, {"id": "stub-1"}),
    "failed": Answer(422, {"error": "invalid_recipient"}),
}


@pytest.fixture
def stub(settings: Settings) -> Iterator[HttpStub]:
    with HttpStub() as stub:
        known = {
            "BACKEND": "providers.http.HttpAdapter",
            "OPTIONS": {"url": stub.url},
        }
        settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "sms": "http"}
        with provider_settings(http=known):
            yield stub
        calling.close()


@pytest.fixture(params=["celery", "procrastinate"])
def deliver(request: pytest.FixtureRequest, database_env: Mapping[str, str]) -> Deliver:
    """Do what is done of one task, or of one job."""
    if request.param == "celery":
        return lambda delivery_id: deliver_one(delivery_id.hex)
    job = in_a_job(database_env["DATABASE_URL"])
    return lambda delivery_id: asyncio.run(job(delivery_id))


def in_a_job(database: str) -> Callable[[UUID], Any]:
    async def run(delivery_id: UUID) -> None:
        gateway = Gateway()
        async with procrastinate_app.make_pool(database, size=1) as pool:
            await procrastinate_app.deliver(delivery_id, pool=pool, gateway=gateway)
        await gateway.aclose()

    return run


def opt_out(api: Api) -> None:
    answer = api.put(
        "/v1/users/usr_an/notification-preferences",
        {"opt_outs": ["sms"]},
        **{"If-Match": '"0"'},
    )
    assert answer.status_code in {200, 201}, answer.content


@pytest.mark.parametrize("status", ANSWERS)
def test_an_answer_leaves_the_rows_that_it_leaves_of_a_batch(
    api, stub, consume, deliver, database_env, status
):
    stub.always(ANSWERS[status])
    ours = api.accept(channels=["sms"])
    consume()
    theirs = api.accept(channels=["sms"], idempotency_key="another")
    (delivery,) = deliveries(theirs)

    deliver(delivery["id"])

    (delivery,) = deliveries(theirs)
    assert delivery["status"] == status
    assert left(database_env, theirs) == left(database_env, ours)
    first, second = stub.calls
    assert second.json == {**first.json, "id": second.json["id"]}


def test_an_opt_out_after_the_acceptance_is_obeyed(api, stub, deliver):
    notification_id = api.accept(channels=["sms"])
    (delivery,) = deliveries(notification_id)
    opt_out(api)

    deliver(delivery["id"])

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["reason"]) == ("suppressed", "opted_out")
    assert stub.calls == []


def test_a_delivery_that_was_sent_is_not_sent_again(api, stub, deliver):
    notification_id = api.accept(channels=["sms"])
    (delivery,) = deliveries(notification_id)

    for _ in range(2):
        deliver(delivery["id"])

    assert len(stub.calls) == 1


def left(database_env: Mapping[str, str], notification_id: str) -> Any:
    identifier = parse_public_id("ntf", notification_id)
    rows = rows_of(database_env["DATABASE_URL"], identifier)
    for delivery in rows["delivery"]:
        del delivery["retry_until"]  # as long after the settling as that was quick
    return rows
