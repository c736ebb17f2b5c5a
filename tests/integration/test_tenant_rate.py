"""Each tenant submits as fast as its rate allows, and no faster."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client

from notifications.management.sample import TEMPLATES, publish
from tenants.models import Tenant
from tenants.process_cache import forget_everything
from tenants.request_rate.buckets import SECONDS_HELD, Buckets
from tests.acme import Api, query, run_together, submission
from tests.factories.tenants import TenantFactory, api_key, authorization
from tests.own_valkey import flush, url_of

WAIT_SECONDS = 10.0
# With this rate a bucket holds so many.
RATE, HOLDS = 1, SECONDS_HELD


def limit(tenant: Tenant, per_second: int | None) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(requests_per_second=per_second)
    forget_everything()  # as if the processes had noticed


def submit(api: Api, number: int, **changes: Any) -> Any:
    return api.submit(idempotency_key=f"key-{number}", **changes)


def use_up(api: Api, **changes: Any) -> Any:
    """Submit until a request is refused; return the refusal."""
    for number in range(2 * HOLDS):
        answer = submit(api, number, **changes)
        if answer.status_code == 429:
            return answer
    raise AssertionError("nothing was refused")


def remaining(answer: Any) -> int:
    found = re.fullmatch(r'"default";r=(\d+)', answer["RateLimit"])
    assert found, answer["RateLimit"]
    return int(found[1])


def test_what_is_over_the_rate_is_a_problem_that_says_when_to_come_back(api, acme):
    limit(acme, RATE)

    refusal = use_up(api)

    assert refusal["Content-Type"] == "application/problem+json"
    body = refusal.json()
    assert body["type"] == "/problems/rate-limited"
    assert body["status"] == 429
    assert "1 requests a second, and 10 at once" in body["detail"]
    assert refusal["Retry-After"] == "1"
    assert refusal["RateLimit-Policy"] == '"default";q=10;w=10'
    assert refusal["RateLimit"] == '"default";r=0;t=1'
    accepted = query("SELECT count(*) AS n FROM notification")[0]["n"]
    assert HOLDS <= accepted < 2 * HOLDS


def test_a_refused_request_succeeds_later_with_the_same_key(api, acme):
    limit(acme, RATE)
    use_up(api)
    deadline = time.monotonic() + WAIT_SECONDS

    while (answer := submit(api, 999)).status_code == 429:
        assert time.monotonic() < deadline

    assert answer.status_code == 202


def test_an_accepted_request_tells_how_much_is_left(api, acme):
    limit(acme, RATE)

    answers = [submit(api, number) for number in range(3)]

    assert {a["RateLimit-Policy"] for a in answers} == {'"default";q=10;w=10'}
    assert [remaining(answer) for answer in answers] == [9, 8, 7]


def test_repetitions_count_too(api, acme):
    limit(acme, RATE)
    first = submit(api, 1)

    again = submit(api, 1)

    assert again["Idempotent-Replayed"] == "true"
    assert (remaining(first), remaining(again)) == (9, 8)


def test_without_a_rate_of_its_own_a_tenant_has_the_platforms(api):
    held = settings.TENANT_RATE * SECONDS_HELD

    answer = submit(api, 1)

    assert answer["RateLimit-Policy"] == f'"default";q={held};w={SECONDS_HELD}'
    assert remaining(answer) == held - 1


@pytest.mark.parametrize("priority", ["high", "low"])
def test_one_time_passwords_are_not_refused_for_the_sake_of_marketing(
    api, acme, priority
):
    """I10: asking for HIGH does not make a campaign urgent."""
    limit(acme, RATE)
    sale = {"template": {"name": "spring_sale"}, "variables": {"discount": "20"}}
    code = {"template": {"name": "login_code"}, "variables": {"code": "482913"}}
    use_up(api, **sale, priority=priority)

    answers = [submit(api, number, **code) for number in range(100, 105)]

    assert [answer.status_code for answer in answers] == [202] * 5
    assert answers[-1]["RateLimit"].startswith('"otp";r=')


def test_one_time_passwords_have_a_limit_too(api, acme):
    limit(acme, RATE)
    code = {"template": {"name": "login_code"}, "variables": {"code": "482913"}}

    refusal = use_up(api, **code)

    assert refusal["RateLimit"] == '"otp";r=0;t=1'
    assert submit(api, 999).status_code == 202


def test_a_test_that_runs_wild_does_not_stop_the_live_service(api, acme):
    limit(acme, RATE)
    test = Api(Client(), authorization(api_key(acme, is_test=True)))

    refusal = use_up(test)

    assert refusal["RateLimit"] == '"test";r=0;t=1'
    assert submit(api, 999).status_code == 202


def test_another_tenant_does_not_notice(api, acme):
    """I11"""
    other = TenantFactory.create()
    publish(other, TEMPLATES[0])
    limit(acme, RATE)
    use_up(api)

    answer = Api(Client(), authorization(api_key(other))).submit()

    assert answer.status_code == 202


def test_a_template_that_is_not_there_counts_as_any_request(api, acme):
    limit(acme, RATE)

    refusal = use_up(api, template={"name": "nonsense"})

    assert refusal["RateLimit"] == '"default";r=0;t=1'


def together(work: Callable[[], bool], *, threads: int) -> int:
    """Run it in threads at one moment; return how many were told yes."""
    results = run_together(*[work] * threads)
    assert all(isinstance(each, bool) for each in results), results
    return sum(results)


def test_threads_of_a_process_share_its_bucket(api, acme):
    limit(acme, RATE)
    started = time.monotonic()

    def one_more():
        fresh = Api(Client(), api.headers)
        body = submission(idempotency_key=f"{time.perf_counter_ns()}")
        return fresh.post("/v1/notifications", body).status_code == 202

    given = together(one_more, threads=40)

    assert HOLDS <= given <= HOLDS + RATE * (time.monotonic() - started) + 1


def test_processes_share_what_a_bucket_holds(valkey):
    """Each Buckets stands for a process; blocks of twenty are what they take."""
    rate, threads = 100, 8
    processes = [Buckets(url=url_of(valkey), expected_processes=4) for _ in range(4)]
    started = time.monotonic()
    works = [
        lambda own=own: sum(
            own.take("busy", per_second=rate).is_given for _ in range(400)
        )
        for own in processes
        for _ in range(threads // len(processes))
    ]

    given = sum(run_together(*works))

    passed = time.monotonic() - started
    assert given <= rate * (SECONDS_HELD + passed) + 1
    # Processes that have been refused hold nothing back.
    assert given >= rate * SECONDS_HELD
    for own in processes:
        own.close()


def test_a_busy_tenant_costs_a_call_for_many_requests(valkey):
    own = Buckets(url=url_of(valkey), expected_processes=1)

    for _ in range(1000):
        assert own.take("busy", per_second=500).is_given

    assert valkey.info("commandstats")["cmdstat_evalsha"]["calls"] <= 1000 / 100 + 1
    own.close()


def test_who_does_not_stop_is_refused_without_a_call(valkey):
    own = Buckets(url=url_of(valkey), expected_processes=1)
    while own.take("wild", per_second=20).is_given:
        pass
    asked = valkey.info("commandstats")["cmdstat_evalsha"]["calls"]
    started = time.monotonic()

    for _ in range(2000):
        own.take("wild", per_second=20)

    more = valkey.info("commandstats")["cmdstat_evalsha"]["calls"] - asked
    assert more <= 5 * (time.monotonic() - started) + 2
    own.close()


def test_nobody_waits_for_a_clock_that_was_set_back(valkey):
    own = Buckets(url=url_of(valkey), expected_processes=1)
    an_hour_on = int((time.time() + 3600) * 1_000_000)
    valkey.set(cache.make_key("rate:{late}"), str(an_hour_on))

    assert own.take("late", per_second=1).is_given
    own.close()


def test_a_flushed_valkey_fills_the_bucket_and_no_more(valkey):
    own = Buckets(url=url_of(valkey), expected_processes=1)
    while own.take("lost", per_second=1).is_given:
        pass
    flush(valkey)
    deadline = time.monotonic() + WAIT_SECONDS

    while not (taken := own.take("lost", per_second=1)).is_given:
        assert time.monotonic() < deadline

    assert taken.left == SECONDS_HELD - 1
    own.close()
