"""Where a submission meets time, missing partitions and a database that is away."""

from __future__ import annotations

from datetime import timedelta

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


@pytest.mark.parametrize("table", ["notification", "delivery", "audit_event"])
def test_a_month_without_its_partition_refuses_and_leaves_nothing(
    plain_api, owner, table
):
    """F13"""
    month = f"{database_now():%Y_%m}"
    with owner.transaction(force_rollback=True):
        pass
    owner.execute(f"ALTER TABLE {table} DETACH PARTITION {table}_p{month}")
    try:
        answer = plain_api.submit(channels=["email", "sms"])
    finally:
        bounds = "uuid7_floor('{}-01'), uuid7_floor"
        owner.execute(bounds)
