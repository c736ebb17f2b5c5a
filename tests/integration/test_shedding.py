"""Too much is refused where it is too much, LOW first, HIGH never; an outage is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.test import RequestFactory

from config.crowd import refuse_a_crowd
from foundation.statements import server_cursor
from notifications.acceptance.shedding import under_way
from notifications.lateness import note_flow, read_lateness
from notifications.outbox import LANES, Lane
from providers.base import Adapter, OutboundMessage, SendResult, Verdict
from providers.channels import Channel
from providers.gateway import Gateway
from tenants.categories import Priority
from tenants.process_cache import forget_everything
from tests.acme import Api, query
from tests.database_clock import Clock
from tests.factories.notifications import Row, insert
from tests.factories.providers import OutboundMessageFactory

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

pytestmark = pytest.mark.usefixtures("committed", "sixteen_at_once")

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
OVERLOADED = "/problems/overloaded"


@pytest.fixture
def sixteen_at_once(settings):
    settings.SUBMISSIONS_UNDER_WAY = 16


def waits(priority: Priority, channel: Channel, *, since: timedelta) -> None:
    """Let a message of a class have been due for so long."""
    insert(Row(priority=priority, channel=channel, due_in=-since))


def flows(*lanes: Lane) -> None:
    """Let consumers note that these classes get through; forget what is remembered."""
    with server_cursor() as cursor:
        note_flow(cursor, lanes or LANES)
    forget_everything()


def answers(api: Api, **changes: Any) -> dict[str, int]:
    """Submit one of each class; return their status codes."""
    return {
        priority.key: api.submit(
            idempotency_key=f"{priority.key}-{changes}",
            priority=priority.key,
            **changes,
        ).status_code
        for priority in Priority
    }


def test_low_that_is_late_sheds_low_of_its_channel_alone(api):
    waits(Priority.LOW, Channel.EMAIL, since=5 * HOUR)
    flows()

    assert answers(api) == {"high": 202, "normal": 202, "low": 503}
    assert answers(api, channels=["sms"])["low"] == 202


def test_normal_that_is_late_sheds_low_first_and_itself_later(api):
    waits(Priority.NORMAL, Channel.EMAIL, since=11 * MINUTE)
    flows()
    assert answers(api) == {"high": 202, "normal": 202, "low": 503}

    waits(Priority.NORMAL, Channel.EMAIL, since=21 * MINUTE)
    flows()
    late = answers(api, channels=["email", "sms"])
    assert late == {"high": 202, "normal": 503, "low": 503}


def test_high_that_is_late_sheds_the_others(api):
    waits(Priority.HIGH, Channel.EMAIL, since=MINUTE)
    flows()

    assert answers(api) == {"high": 202, "normal": 503, "low": 503}


def test_what_stands_still_is_an_outage_and_sheds_nothing(api):
    """Behind an open breaker, an unreachable broker or without consumers."""
    for priority in Priority:
        waits(priority, Channel.EMAIL, since=20 * HOUR)
    forget_everything()

    assert set(answers(api).values()) == {202}


def test_what_flowed_a_while_ago_flows_no_more(api, clock: Clock):
    waits(Priority.LOW, Channel.EMAIL, since=20 * HOUR)
    flows()
    clock.advance(timedelta(seconds=16))
    forget_everything()

    assert answers(api)["low"] == 202


def test_a_refusal_says_of_what_and_when_to_come_back_and_writes_nothing(api):
    waits(Priority.LOW, Channel.EMAIL, since=5 * HOUR)
    flows()

    refusal = api.submit(priority="low")

    assert refusal.status_code == 503
    problem = refusal.json()
    assert problem["type"] == OVERLOADED
    assert (problem["priority"], problem["channel"]) == ("low", "email")
    assert 300 <= int(refusal["Retry-After"]) <= 450
    assert query("SELECT 1 FROM idempotency_key") == []


def test_what_was_accepted_before_is_answered_again(api):
    first = api.submit(priority="low")
    waits(Priority.LOW, Channel.EMAIL, since=5 * HOUR)
    flows()

    again = api.submit(priority="low")

    assert (again.status_code, again.content) == (202, first.content)


@pytest.mark.parametrize(("ahead", "status"), [(5 * HOUR, 202), (MINUTE, 503)])
def test_what_is_to_be_sent_when_lateness_is_over_is_accepted(
    api, clock: Clock, ahead, status
):
    waits(Priority.LOW, Channel.EMAIL, since=5 * HOUR)
    flows()
    send_at = (clock.now() + ahead).isoformat()

    assert answers(api, send_at=send_at)["low"] == status


def test_a_consumer_notes_what_got_through_and_not_what_failed(api, consume):
    api.accept(idempotency_key="well", priority="low", channels=["email", "in_app"])
    failing = {"user_id": "usr_x", "email": "transient+9@simulate.example"}
    api.accept(idempotency_key="badly", recipient=failing, priority="normal")

    consume()

    noted = {row["lane"] for row in query("SELECT lane FROM lane_flow")}
    # Once a second: what is settled later in it is noted with the next.
    assert noted
    assert noted <= {"email.low", "in_app.low"}


def test_lateness_is_read_of_what_flows_alone(api):
    waits(Priority.LOW, Channel.EMAIL, since=HOUR)
    waits(Priority.LOW, Channel.SMS, since=HOUR)
    low = Lane(Priority.LOW, Channel.EMAIL)
    flows(low, Lane(Priority.HIGH, Channel.EMAIL))

    with server_cursor() as cursor:
        known = read_lateness(cursor)

    assert list(known) == [low]
    assert 3600 <= known[low] < 3700


class Failing(Adapter):
    """Never accepts anything."""

    channels = frozenset(Channel)

    async def send(self, message: OutboundMessage) -> SendResult:
        return Verdict.TRANSIENT.result(code="away")


def test_a_channel_with_an_open_breaker_is_not_noted_as_flowing(settings):
    settings.PROVIDERS = {
        "away": {
            "BACKEND": f"{__name__}.Failing",
            "RATE": None,
            "PATIENCE": 0.1,
            "BREAKER": {"least_calls": 3},
        }
    }

    async def fail() -> tuple[bool, bool, bool]:
        gateway = Gateway()
        message = OutboundMessageFactory.build(channel=Channel.SMS)
        before = gateway.has_resting(Channel.SMS)
        async with asyncio.timeout(20):
            while not gateway.has_resting(Channel.SMS):
                await gateway.send(message, alias="away")
        found = before, True, gateway.has_resting(Channel.EMAIL)
        await gateway.aclose()
        return found

    assert asyncio.run(fail()) == (False, True, False)


@pytest.mark.parametrize(
    ("under_way_already", "expected"),
    [
        (7, {"high": 202, "normal": 202, "low": 202}),
        (8, {"high": 202, "normal": 202, "low": 503}),
        (16, {"high": 202, "normal": 503, "low": 503}),
        (100, {"high": 202, "normal": 503, "low": 503}),
    ],
)
def test_a_crowd_keeps_low_out_first_and_high_never(door, under_way_already, expected):
    with ExitStack() as crowd:
        for _ in range(under_way_already):
            crowd.enter_context(under_way)

        assert answers(door) == expected

    assert under_way.number == 0


@pytest.mark.usefixtures("crowd")
def test_who_is_refused_by_a_crowd_comes_back_soon(api, caplog):
    refusal = api.submit()

    assert refusal.json()["type"] == OVERLOADED
    assert refusal.json()["channel"] is None
    assert 1 <= int(refusal["Retry-After"]) <= 2
    # The line of the request tells it; an error of its own would cost as much again.
    assert [seen for seen in caplog.records if seen.name == "django.request"] == []


@pytest.mark.parametrize(
    ("fullness", "expected"),
    [
        (0.85, {"high": 202, "normal": 202, "low": 202}),
        (0.92, {"high": 202, "normal": 202, "low": 503}),
        (0.97, {"high": 202, "normal": 503, "low": 503}),
        (0.995, {"high": 503, "normal": 503, "low": 503}),
    ],
)
def test_a_disk_that_is_nearly_full_takes_less_and_in_the_end_nothing(
    api, settings, fullness, expected
):
    (size,) = query("SELECT pg_database_size(current_database()) AS bytes")
    settings.DATABASE_MAX_BYTES = int(size["bytes"] / fullness)
    forget_everything()

    assert answers(api) == expected


def test_a_full_disk_has_a_problem_of_its_own(api, settings):
    first = api.submit()
    settings.DATABASE_MAX_BYTES = 1
    forget_everything()

    refusal = api.submit(idempotency_key="another")

    assert (refusal.status_code, refusal["Retry-After"]) == (503, "300")
    assert refusal.json()["type"] == "/problems/storage-full"
    assert api.submit().content == first.content


@pytest.fixture
def crowd():
    with ExitStack() as entered:
        for _ in range(20):
            entered.enter_context(under_way)
        yield


class Door:
    """A test client whose requests come in as a web server hands them on."""

    def __init__(self) -> None:
        self.asked_django = 0
        self._application = refuse_a_crowd(self._django)

    def _django(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        self.asked_django += 1
        return WSGIHandler()(environ, start_response)

    def post(self, path: str, **request: Any) -> HttpResponse:
        environ = RequestFactory().post(path, **request).environ
        answer = HttpResponse()

        def start(
            status: str, headers: list[tuple[str, str]], *rest: Any
        ) -> Callable[[bytes], object]:
            answer.status_code = int(status[:3])
            for name, value in headers:
                answer[name] = value
            return answer.write

        answer.content = b"".join(self._application(environ, start))
        return answer


@pytest.fixture
def door(api: Api) -> Api:
    """Call the API as from outside; the process knows the key and the template."""
    assert api.submit(priority="high", idempotency_key="to be known").status_code == 202
    return Api(Door(), api.headers)  # type: ignore[arg-type]


@pytest.mark.usefixtures("crowd")
def test_a_crowd_is_refused_before_any_work(door, django_assert_num_queries, caplog):
    caplog.set_level("INFO")
    with django_assert_num_queries(0):
        refusals = [
            door.submit(idempotency_key=f"{number}", priority=priority)
            for number in range(20)
            for priority in ("normal", "low", None)
        ]

    assert {refusal.status_code for refusal in refusals} == {503}
    refusal = refusals[0]
    body = json.loads(refusal.content)
    assert body["type"] == OVERLOADED
    assert (body["status"], body["instance"]) == (503, "/v1/notifications")
    assert (body["priority"], body["channel"]) == ("normal", None)
    assert body["request_id"] == refusal["X-Request-Id"]
    assert refusal["Content-Type"] == "application/problem+json"
    assert int(refusal["Content-Length"]) == len(refusal.content)
    assert 1 <= int(refusal["Retry-After"]) <= 2
    assert door.client.asked_django == 0
    # Not one for each.
    assert len([seen for seen in caplog.records if "crowd" in seen.getMessage()]) <= 2


@pytest.mark.usefixtures("crowd")
def test_the_door_refuses_in_the_words_of_the_view(api, door):
    at_the_door, in_the_view = (each.submit(priority="low") for each in (door, api))

    told = [json.loads(each.content) for each in (at_the_door, in_the_view)]
    for body in told:
        del body["request_id"]
    assert told[0] == told[1]


@pytest.mark.usefixtures("crowd")
def test_what_the_door_does_not_know_goes_on_to_the_view(door):
    known = door.client.asked_django
    code = {"name": "login_code"}

    urgent = door.submit(priority="high", idempotency_key="urgent")
    strange = Api(
        door.client, {**door.headers, "Authorization": "Bearer nobody"}
    ).submit()
    malformed = door.post("/v1/notifications", "{")
    nonsense = door.submit(priority="urgent")
    large = door.submit(variables={"customer_name": "x" * 20_000})
    one_time = door.submit(template=code, variables={"code": "1"}, channels=["sms"])
    forget_everything()
    forgotten = door.submit()

    answers = (urgent, strange, malformed, nonsense, large, one_time, forgotten)
    statuses = [answer.status_code for answer in answers]
    assert statuses == [202, 401, 400, 422, 503, 202, 503]
    assert door.client.asked_django - known == len(answers)


@pytest.mark.usefixtures("crowd")
def test_a_class_that_nobody_names_is_the_templates(api):
    code = {"name": "login_code"}

    assert api.submit().status_code == 503
    one_time = api.submit(template=code, variables={"code": "1"}, channels=["sms"])
    assert one_time.status_code == 202


@pytest.mark.usefixtures("crowd")
def test_what_is_wrong_is_told_in_a_crowd_too(api):
    strange = {**api.headers, "Authorization": "Bearer nobody"}

    assert Api(api.client, strange).submit().status_code == 401
    assert api.post("/v1/notifications", "{").status_code == 400
    assert api.submit(priority="urgent").status_code == 422
    large = api.submit(variables={"customer_name": "x" * 20_000})
    assert large.json()["type"] == OVERLOADED
    assert api.get("/v1/notifications").status_code == 200
