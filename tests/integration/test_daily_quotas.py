"""A day's quota is the end of it: no message more, and none lost to a repetition."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from notifications import tasks
from tenants import limits
from tenants.daily_quotas import Blocks, DailyQuotaExceeded, give_back
from tenants.models import Tenant
from tenants.process_cache import forget_everything
from tests.acme import Api, query, run_together, submission
from tests.conftest import owner_connection
from tests.factories.preferences import DeviceFactory
from tests.factories.tenants import TenantFactory, api_key, authorization

EXCEEDED = "/problems/daily-quota-exceeded"


def set_quotas(tenant: Tenant, **quotas: int | None) -> None:
    fields = {f"daily_{channel}_quota": quota for channel, quota in quotas.items()}
    Tenant.objects.filter(pk=tenant.pk).update(**fields)
    forget_everything()  # as if every process had noticed, with a new block


def submit(api: Api, number: int, **changes: Any) -> Any:
    return api.submit(idempotency_key=f"key-{number}", **changes)


def statuses(api: Api, numbers: range, **changes: Any) -> list[int]:
    return [submit(api, number, **changes).status_code for number in numbers]


def taken() -> dict[str, int]:
    rows = query("SELECT channel, sum(taken)::int AS n FROM daily_usage GROUP BY 1")
    return {row["channel"]: row["n"] for row in rows}


def count(table: str) -> int:
    number: int = query(f"SELECT count(*) AS n FROM {table}")[0]["n"]
    return number


def test_the_message_after_the_last_is_a_problem_that_names_the_channel(
    api, acme, clock
):
    set_quotas(acme, email=2)
    clock.set_offset(datetime(2030, 5, 6, 23, 0, tzinfo=UTC) - datetime.now(UTC))
    assert statuses(api, range(2)) == [202, 202]

    refusal = submit(api, 2)

    assert refusal.status_code == 429
    assert refusal["Content-Type"] == "application/problem+json"
    body = refusal.json()
    assert body["type"] == EXCEEDED
    assert (body["channel"], body["quota"]) == ("email", 2)
    # The sample tenant's midnight.
    assert body["resets_at"] == "2030-05-07T17:00:00+00:00"
    assert 17 * 3600 < int(refusal["Retry-After"]) <= 18 * 3600
    assert "RateLimit" not in refusal.headers
    assert count("notification") == count("delivery") == count("idempotency_key") == 2


def test_the_refused_message_is_accepted_on_the_next_day_with_the_same_key(
    api, acme, clock
):
    set_quotas(acme, email=1)
    assert statuses(api, range(2)) == [202, 429]

    clock.advance(timedelta(days=1))
    forget_everything()  # as if the day had passed for the process, too

    assert statuses(api, range(1, 3)) == [202, 429]


def test_a_notification_on_several_channels_is_accepted_on_all_or_none(api, acme):
    """I2"""
    set_quotas(acme, email=3, sms=1)
    both = {"channels": ["email", "sms"]}
    assert submit(api, 1, **both).status_code == 202

    refusal = submit(api, 2, **both)

    assert refusal.json()["channel"] == "sms"
    assert count("notification") == 1
    # And the e-mails that it did not send are still there.
    assert statuses(api, range(3, 6)) == [202, 202, 429]


def test_a_repetition_is_answered_as_before_when_nothing_is_left(api, acme):
    set_quotas(acme, email=1)
    first = submit(api, 1)
    assert submit(api, 2).status_code == 429

    again = submit(api, 1)

    assert again.status_code == 202
    assert again.content == first.content
    assert again["Idempotent-Replayed"] == "true"


def test_repetitions_use_nothing_up(api, acme):
    set_quotas(acme, email=2)

    answers = [submit(api, 1) for _ in range(5)]

    assert {answer.status_code for answer in answers} == {202}
    assert statuses(api, range(2, 4)) == [202, 429]


def test_a_key_that_belongs_to_another_request_is_told_so_all_the_same(api, acme):
    set_quotas(acme, email=1)
    submit(api, 1)

    answer = submit(api, 1, reference="another")

    assert answer.status_code == 409
    assert answer.json()["type"] == "/problems/idempotency-key-reused"


def test_a_request_whose_key_is_being_answered_uses_nothing_up(api, acme):
    set_quotas(acme, email=2)
    with owner_connection() as other, other.transaction():
        other.execute(
            "INSERT INTO idempotency_key (tenant_id, key, fingerprint, hash_version,"
            " expires_at) VALUES (%s, 'key-1', sha256(''), 1, app_now() + '1 day')",
            [acme.pk],
        )
        busy = submit(api, 1)

    assert busy.json()["type"] == "/problems/idempotency-in-progress"
    assert statuses(api, range(2, 5)) == [202, 202, 429]


def test_what_is_not_valid_uses_nothing_up(api, acme):
    set_quotas(acme, email=1)

    assert submit(api, 1, variables={}).status_code == 422

    assert statuses(api, range(2, 4)) == [202, 429]


def test_test_keys_use_nothing_up_and_are_not_refused(api, acme):
    set_quotas(acme, email=1)
    test = Api(Client(), authorization(api_key(acme, is_test=True)))

    assert statuses(test, range(3)) == [202] * 3
    assert statuses(api, range(2)) == [202, 429]
    assert statuses(test, range(3, 5)) == [202] * 2


def test_what_policy_suppresses_does_not_count(api, acme):
    set_quotas(acme, email=1)

    nobody = submit(api, 1, recipient={"user_id": "usr_without_address"})

    assert nobody.json()["decisions"][0]["decision"] == "suppress"
    assert statuses(api, range(2, 4)) == [202, 429]


def test_every_device_is_a_message(api, acme):
    for token in ("a phone", "a tablet", "a watch"):
        DeviceFactory.create(tenant=acme, user_id="usr_x", token=token)
    set_quotas(acme, push=5)
    push = {"recipient": {"user_id": "usr_x"}, "channels": ["push"]}

    assert statuses(api, range(2), **push) == [202, 429]

    assert count("delivery") == 3


def test_a_quota_of_none_at_all_closes_the_channel(api, acme):
    set_quotas(acme, sms=0)

    assert submit(api, 1, channels=["sms"]).status_code == 429
    assert submit(api, 2).status_code == 202
    assert taken() == {}


def test_a_channel_without_a_quota_is_not_counted(api, acme):
    set_quotas(acme, email=None)

    submit(api, 1)

    assert taken() == {}


def test_a_raised_quota_lets_in_at_once_and_a_lowered_one_stops(api, acme):
    set_quotas(acme, email=1)
    assert statuses(api, range(2)) == [202, 429]

    set_quotas(acme, email=2)
    assert statuses(api, range(2, 4)) == [202, 429]
    set_quotas(acme, email=1)
    assert statuses(api, range(4, 5)) == [429]


def test_after_a_refusal_less_may_still_be_had(acme):
    set_quotas(acme, push=5)
    own = Blocks()
    own.take(tenant_id=acme.pk, messages={"push": 3})
    with pytest.raises(DailyQuotaExceeded):
        own.take(tenant_id=acme.pk, messages={"push": 3})

    own.take(tenant_id=acme.pk, messages={"push": 2})

    assert taken() == {"push": 5}


def test_a_refusal_is_not_remembered_when_the_quota_is_raised(acme):
    set_quotas(acme, push=1)
    own = Blocks()
    with pytest.raises(DailyQuotaExceeded):
        own.take(tenant_id=acme.pk, messages={"push": 2})

    Tenant.objects.filter(pk=acme.pk).update(daily_push_quota=2)
    limits._limits.clear()  # as if five seconds had passed

    own.take(tenant_id=acme.pk, messages={"push": 2})


def test_another_tenants_day_is_its_own(api, acme):
    """I11"""
    other = TenantFactory.create(time_zone="UTC")
    set_quotas(acme, email=1)
    set_quotas(other, email=1)
    blocks = Blocks()
    blocks.take(tenant_id=other.pk, messages={"email": 1})

    assert statuses(api, range(2)) == [202, 429]


def test_threads_at_once_get_exactly_the_quota(api, acme):
    """I2, and no message more."""
    set_quotas(acme, email=20)

    def one_more(number: int) -> Any:
        fresh = Api(Client(), api.headers)
        body = submission(idempotency_key=f"key-{number}")
        return fresh.post("/v1/notifications", body)

    answers = run_together(*[lambda n=n: one_more(n) for n in range(50)])

    codes = sorted(answer.status_code for answer in answers)
    assert codes == [202] * 20 + [429] * 30
    assert count("delivery") == 20


@pytest.mark.parametrize("quota", [7, 3_000, 60_000])
def test_processes_at_once_never_overrun_the_quota(acme, quota):
    """Each Blocks stands for a process. What one holds the others cannot have."""
    set_quotas(acme, sms=quota)
    processes = [Blocks() for _ in range(4)]
    size = 3

    def take_all(own: Blocks) -> int:
        number = 0
        try:
            while True:
                own.take(tenant_id=acme.pk, messages={"sms": size})
                number += size
        except DailyQuotaExceeded:
            return number

    given = sum(run_together(*[lambda own=own: take_all(own) for own in processes]))

    # Each that is refused holds less than was asked for.
    assert quota - len(processes) * (size - 1) <= given <= quota
    assert quota - (size - 1) <= taken()["sms"] <= quota


def test_a_row_is_updated_for_a_block_and_not_for_a_message(acme):
    set_quotas(acme, email=1_000_000)
    own = Blocks()

    for _ in range(101):
        own.take(tenant_id=acme.pk, messages={"email": 1})

    assert taken() == {"email": 200}


def test_who_does_not_stop_does_not_ask_the_row_each_time(api, acme):
    set_quotas(acme, email=1)
    assert statuses(api, range(2)) == [202, 429]

    with owner_connection() as other, other.transaction():
        other.execute("SELECT FROM daily_usage FOR UPDATE")
        refusal = submit(api, 3)

    assert refusal.json()["type"] == EXCEEDED


def test_a_block_of_yesterday_is_not_used_today(acme, clock):
    set_quotas(acme, email=1_500)
    midnight = datetime(2030, 5, 6, 17, 0, tzinfo=UTC)
    clock.set_offset(midnight - timedelta(seconds=0.5) - datetime.now(UTC))
    own = Blocks()
    own.take(tenant_id=acme.pk, messages={"email": 1})
    (share,) = own.take(tenant_id=acme.pk, messages={"email": 1})
    clock.advance(timedelta(seconds=1))
    while time.monotonic() < share.block.day_ends:
        assert share.block.day_ends < time.monotonic() + 1

    own.take(tenant_id=acme.pk, messages={"email": 1})
    give_back([share])

    days = query("SELECT day, taken FROM daily_usage ORDER BY day")
    assert [(row["day"].day, row["taken"]) for row in days] == [(6, 3), (7, 3)]
    assert share.block.left == 2


def test_use_is_forgotten_after_two_months(api, acme, clock):
    set_quotas(acme, email=5)
    submit(api, 1)
    left = []
    for days in (0, 61, 3):
        clock.advance(timedelta(days=days))
        tasks.forget_old_daily_usage()
        left.append(count("daily_usage"))

    assert left == [1, 1, 0]
