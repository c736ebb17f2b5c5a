from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from tenants.answers import answer
from tenants.idempotency import (
    IdempotencyInProgress,
    IdempotencyKeyReused,
    IdempotentRequest,
    StoredResponse,
    fingerprint,
    forget_expired,
    run_once,
)
from tenants.models import Tenant
from tests.factories.tenants import TenantFactory


def submission(**changes) -> IdempotentRequest:
    amount = changes.pop("amount", "125.00")
    request = IdempotentRequest(
        tenant_id=1,
        key="billing:inv_928:due",
        fingerprint=fingerprint(method="POST", path="/v1/x", body={"amount": amount}),
    )
    return replace(request, **changes)


class Work:
    """Counts how often it was done, and answers differently each time."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> StoredResponse:
        self.times += 1
        return answer(202, {"id": f"ntf_{self.times}"}, resource=uuid4())


@pytest.fixture
def work() -> Work:
    return Work()


def keys() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM idempotency_key")
        count: int = cursor.fetchone()[0]
    return count


def send(work: Callable[[], StoredResponse], **changes) -> Any:
    """Run once in a thread of its own; a conflict is an answer too."""
    try:
        return run_once(request=submission(**changes), work=work)
    except IdempotencyKeyReused:
        return "conflict"
    finally:
        connection.close()


def test_repetition_gets_the_first_answer_byte_for_byte(db, work):
    first, replayed = run_once(request=submission(), work=work)
    assert not replayed

    again, replayed = run_once(request=submission(), work=work)

    assert replayed
    assert again == first
    assert work.times == 1


def test_other_request_with_the_same_key_is_refused(db, work):
    run_once(request=submission(), work=work)

    with pytest.raises(IdempotencyKeyReused):
        run_once(request=submission(amount="125.01"), work=work)
    assert work.times == 1


def test_key_belongs_to_its_tenant(db, work):
    run_once(request=submission(), work=work)

    _, replayed = run_once(request=submission(tenant_id=2), work=work)

    assert not replayed


def test_expired_key_counts_as_new(db, work, clock):
    """Bad input 7."""
    run_once(request=submission(keep_for=timedelta(days=7)), work=work)
    clock.advance(timedelta(days=7))

    fresh, replayed = run_once(request=submission(amount="99.00"), work=work)
    again, repeated = run_once(request=submission(amount="99.00"), work=work)

    assert (replayed, repeated) == (False, True)
    assert again == fresh
    assert keys() == 1


def test_key_lives_until_it_expires(db, work, clock):
    run_once(request=submission(keep_for=timedelta(days=7)), work=work)

    clock.advance(timedelta(days=6, hours=23))

    assert run_once(request=submission(), work=work)[1]


def test_retry_past_midnight_of_the_last_day_finds_the_first_answer(db, work, clock):
    """O-REL-5: keys are not partitioned by time."""
    clock.advance(datetime(2027, 1, 31, 23, 59, 58, tzinfo=UTC) - clock.now())
    first, _ = run_once(request=submission(), work=work)
    clock.advance(timedelta(seconds=5))

    again, replayed = run_once(request=submission(), work=work)

    assert replayed
    assert again == first


def test_failed_work_leaves_no_trace_and_the_key_free(db, work):
    def fail() -> StoredResponse:
        TenantFactory.create(slug="half-made")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        run_once(request=submission(), work=fail)

    assert keys() == 0
    assert not Tenant.objects.filter(slug="half-made").exists()
    assert not run_once(request=submission(), work=work)[1]


def test_fifty_requests_at_once_are_one(committed, work):
    """O-REL-3: the odd one out gets a conflict, or the fifty do if it won."""
    at_once = threading.Barrier(51)

    def answered(amount: str) -> Any:
        at_once.wait()
        outcome = send(work, amount=amount)
        return outcome if outcome == "conflict" else outcome[0].body

    with ThreadPoolExecutor(51) as pool:
        answers = list(pool.map(answered, ["125.00"] * 50 + ["125.01"]))

    same, odd = set(answers[:50]), answers[50]
    assert len(same) == 1
    assert (odd == "conflict") != (same == {"conflict"})
    assert work.times == 1
    assert keys() == 1


def test_first_request_still_at_work_means_in_progress(committed, work):
    started, may_finish = threading.Event(), threading.Event()

    def slow() -> StoredResponse:
        started.set()
        assert may_finish.wait(timeout=30)
        answered: StoredResponse = work()
        return answered

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(send, slow)
        assert started.wait(timeout=30)
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        with pytest.raises(IdempotencyInProgress):
            run_once(request=submission(), work=work)
        may_finish.set()
        assert first.result(timeout=30)[1] is False

    assert run_once(request=submission(), work=work)[1]


def test_second_request_wins_when_the_first_one_fails(committed, work):
    started, may_fail = threading.Event(), threading.Event()

    def failing() -> StoredResponse:
        started.set()
        assert may_fail.wait(timeout=30)
        raise RuntimeError

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(send, failing)
        assert started.wait(timeout=30)
        second = pool.submit(send, work)
        may_fail.set()
        with pytest.raises(RuntimeError):
            first.result(timeout=30)
        assert second.result(timeout=30)[1] is False


def test_expired_keys_are_forgotten_a_few_at_a_time(db, work, clock):
    for number in range(5):
        run_once(request=submission(key=f"k{number}"), work=work)
    clock.advance(timedelta(days=8))
    run_once(request=submission(key="young"), work=work)

    assert [forget_expired(3), forget_expired(3), forget_expired(3)] == [3, 2, 0]
    assert keys() == 1


def test_forgetting_uses_the_index(db, clock):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO idempotency_key"
            " (tenant_id, key, fingerprint, hash_version, expires_at)"
            " SELECT 1, 'k' || n, sha256('x'), 1, app_now() + n * interval '1 minute'"
            "   FROM generate_series(1, 20000) n"
        )
        cursor.execute("ANALYZE idempotency_key")
        cursor.execute(
            "EXPLAIN SELECT tenant_id, key FROM idempotency_key"
            " WHERE expires_at <= app_now() ORDER BY expires_at LIMIT 100"
            " FOR UPDATE SKIP LOCKED"
        )
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "Seq Scan" not in plan
    assert "Index Cond: (expires_at <= " in plan
