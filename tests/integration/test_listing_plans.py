"""No list reads a partition from end to end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from foundation.database_clock import database_now
from notifications.statuses import NotificationState
from notifications.tracking import Filter, list_standings, read_standing
from providers.channels import Channel
from tests.acme import query

ROWS = 20_000
FILL = f"""
INSERT INTO notification (id, tenant_id, user_id, template_version_id, content_hash,
                          category, priority, locale, reference, is_test, accepted_by,
                          send_at)
SELECT uuidv7(), 1 + n % 2, 'usr_' || n % 200, 1, '', 'transactional', 1, '',
       CASE WHEN n % 20 = 0 THEN 'inv_' || n % 400 ELSE '' END, false, 'service:test',
       now()
  FROM generate_series(1, {ROWS}) n;
INSERT INTO delivery (id, notification_id, tenant_id, channel, category, status,
                      address_key, retry_until, finished_at)
SELECT overlay(uuidv7()::text placing left(id::text, 13) from 1 for 13)::uuid, id,
       tenant_id, channel, category, 'sent', '', now(), now()
  FROM notification, generate_series(1, 2) channel;
INSERT INTO audit_event (id, tenant_id, kind, actor, notification_id, reason, detail)
SELECT uuidv7(), tenant_id, 'notification.accepted', 'test', id, '', '{{}}'
  FROM notification;
INSERT INTO audit_event (id, tenant_id, kind, actor, notification_id, delivery_id,
                         reason, detail)
SELECT uuidv7(), tenant_id, 'delivery.sent', 'test', notification_id, id, '', '{{}}'
  FROM delivery;
ANALYZE notification, delivery
"""
NOW = datetime.now(UTC)
DAY: dict[str, Any] = {
    "created_from": NOW - timedelta(hours=23),
    "created_to": NOW + timedelta(hours=1),
}
FILTERS = [
    Filter(),
    Filter(limit=200),
    Filter(user_id="usr_7"),
    Filter(user_id="nobody"),
    Filter(reference="inv_40"),
    Filter(reference="none"),
    Filter(**DAY),
    Filter(created_to=NOW - timedelta(days=1)),
    *(Filter(user_id="usr_7", state=state.value) for state in NotificationState),
    Filter(user_id="usr_7", channel=Channel.PUSH),
    Filter(reference="inv_40", state="completed", channel=Channel.EMAIL),
    Filter(state="failed", **DAY),
    Filter(channel=Channel.SMS, **DAY),
    Filter(channel=Channel.PUSH, **DAY),
    Filter(user_id="usr_7", reference="inv_40", state="completed", **DAY),
]


@pytest.fixture
def leaves(committed, owner) -> list[str]:
    """Fill the partitions of this month; return the two that lists read."""
    for statement in FILL.split(";\n"):
        owner.execute(statement)
    return [
        f"{table}_p{database_now():%Y_%m}" for table in ("notification", "delivery")
    ]


def scans(leaves: list[str]) -> int:
    """Count this session's sequential scans that the statistics do not show yet."""
    found: int = query(
        "SELECT sum(seq_scan)::int AS n FROM pg_stat_xact_user_tables"
        " WHERE relname = ANY (%s)",
        leaves,
    )[0]["n"]
    return found


@transaction.atomic
def scanned(leaves: list[str], work: Callable[[], object]) -> int:
    before = scans(leaves)
    # Often enough for PostgreSQL to try a plan without the parameters' values.
    for _ in range(7):
        work()
    return scans(leaves) - before


def test_lists_and_single_reads_go_by_index(leaves, subtests):
    assert scanned(leaves, lambda: query("SELECT DISTINCT locale FROM notification"))
    for chosen in FILTERS:
        with subtests.test(msg=str(chosen)):
            read = partial(list_standings, tenant_id=1, chosen=chosen)

            assert scanned(leaves, read) == 0
    standings, _ = list_standings(tenant_id=1, chosen=Filter(limit=1))
    one = partial(read_standing, tenant_id=1, notification_id=standings[0].header.id)
    assert scanned(leaves, one) == 0
