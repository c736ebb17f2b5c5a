"""A page of cancelling costs as much as the page, whatever else there is."""

from __future__ import annotations

import pytest
from django.db import transaction

from foundation.database_clock import database_now
from foundation.statements import server_cursor
from notifications.cancellation import Asker, ReferencePage, cancel_page
from tests.acme import query
from tests.integration.test_listing_plans import FILL, scans

PAGE, PAGES = 5, 8
# As if nothing had been sent yet, and the later half were of one campaign.
MAKE_PENDING = """
UPDATE notification SET reference = 'sale'
 WHERE reference = ''
   AND id > (SELECT id FROM notification ORDER BY id OFFSET 10000 LIMIT 1);
UPDATE delivery SET status = 'pending', finished_at = NULL;
INSERT INTO outbox (delivery_id, tenant_id, channel, priority, claim_count, due_at)
SELECT id, tenant_id, channel, 1, 0, now() FROM delivery;
ANALYZE notification, delivery, outbox
"""


@pytest.fixture
def tables(committed, owner) -> list[str]:
    """Fill the partitions of this month and the outbox; return their names."""
    for statement in f"{FILL};{MAKE_PENDING}".split(";\n"):
        owner.execute(statement)
    month = f"{database_now():%Y_%m}"
    return [f"notification_p{month}", f"delivery_p{month}", "outbox"]


def cancel_pages(reference: str) -> list[int]:
    """Cancel page after page; return how many notifications each one met."""
    sizes: list[int] = []
    after = None
    for _ in range(PAGES):
        page = ReferencePage(
            reference=reference, after=after, limit=PAGE, only_test=False
        )
        with server_cursor() as cursor:
            results, after = cancel_page(
                cursor, asker=Asker(tenant_id=1, actor="service:test"), page=page
            )
        sizes.append(len(results))
        if after is None:
            break
    return sizes


@pytest.mark.parametrize(
    ("reference", "sizes"),
    [("inv_40", [PAGE] * PAGES), ("sale", [PAGE] * PAGES), ("none", [0])],
)
def test_a_page_reads_its_own_rows_by_index_and_no_others(tables, reference, sizes):
    """In every table: of notifications, one more to see whether there is more."""
    with transaction.atomic():
        scanned, fetched = scans(tables), fetches(tables[0])

        assert cancel_pages(reference) == sizes

        assert scans(tables) == scanned
        # Planning may look at the ends of an index, too.
        assert fetches(tables[0]) - fetched <= (PAGE + 2) * len(sizes)
        transaction.set_rollback(True)


def fetches(table: str) -> int:
    """Count the rows that this session's transaction fetched by index."""
    found: int = query(
        "SELECT coalesce(idx_tup_fetch, 0)::int AS n FROM pg_stat_xact_user_tables"
        " WHERE relname = %s",
        table,
    )[0]["n"]
    return found
