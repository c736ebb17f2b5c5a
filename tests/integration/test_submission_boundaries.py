"""Where a submission meets time, missing partitions and a database that is away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest
from django.test import Client

from foundation.database_clock import database_now
from tests.acme import Api, deliveries, query


@pytest.fixture
def plain_api(api) -> Api:
    """As a client sees it: a bug is an answer, too."""
    return Api(Client(raise_request_exception=False), api.headers)


def test_an_expiry_that_comes_while_accepting_is_a_refusal(plain_api):
    """Bad input 20: between the check and the statement time goes on."""
    for number in range(60):
        soon = database_now() + timedelta(microseconds=number * 250)
        answer = plain_api.submit(
            expires_at=soon.isoformat(), idempotency_key=f"soon:{number}"
        )
        assert answer.status_code in {202, 422}, (number, answer.content)


@contextmanager
def detached(owner: psycopg.Connection, leaf: str) -> Iterator[None]:
    """Take a partition away for a while."""
    ((parent, bounds),) = owner.execute(
        "SELECT inhparent::regclass::text, pg_get_expr(relpartbound, oid)"
        " FROM pg_class JOIN pg_inherits ON inhrelid = oid WHERE relname = %s",
        [leaf],
    ).fetchall()
    owner.execute(f"ALTER TABLE {parent} DETACH PARTITION {leaf}")
    try:
        yield
    finally:
        owner.execute(f"ALTER TABLE {parent} ATTACH PARTITION {leaf} {bounds}")


WRITTEN = [
    "notification",
    "notification_content",
    "delivery",
    "outbox",
    "idempotency_key",
    "audit_event",
]


def counts() -> list[int]:
    return [query(f"SELECT count(*) AS n FROM {t}")[0]["n"] for t in WRITTEN]


def test_a_month_without_its_partition_refuses_and_leaves_nothing(
    plain_api, owner, consume, subtests
):
    """F13"""
    before = counts()
    for table in ("notification", "notification_content", "delivery", "audit_event"):
        with subtests.test(msg=table):
            with detached(owner, f"{table}_p{database_now():%Y_%m}"):
                answer = plain_api.submit(channels=["email", "sms"])

            assert answer.status_code == 503
            assert answer.json()["type"] == "/problems/unavailable"
            assert answer["Retry-After"] == "2"
            assert counts() == before

    notification_id = plain_api.accept(channels=["email", "sms"])
    consume()
    assert [row["status"] for row in deliveries(notification_id)] == ["sent"] * 2


def test_a_database_that_waits_too_long_means_unavailable(plain_api, owner):
    """F07: the table is locked; the client is told to come again."""
    with owner.transaction():
        owner.execute("LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE")
        answer = plain_api.submit()

    assert answer.status_code in {409, 503}, answer.content
    assert answer["Retry-After"]
    assert counts()[:5] == [0] * 5
    assert plain_api.submit().status_code == 202
