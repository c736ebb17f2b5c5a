"""The state that a list filters by is the state that is shown."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from django.db import connection

from foundation.ids import new_id, sibling_id
from notifications.statuses import (
    FINISHED,
    DeliveryStatus,
    NotificationState,
    notification_state,
)
from notifications.tracking import Filter, list_standings
from providers.channels import Channel

TENANT = 7
INSERT_NOTIFICATIONS = """
INSERT INTO notification (id, tenant_id, user_id, template_version_id, content_hash,
                          category, priority, locale, reference, is_test, accepted_by,
                          send_at)
SELECT id, %s, 'usr_1', 1, '', 'transactional', 1, '', '', false, 'service:test',
       app_now() + CASE WHEN in_future THEN interval '1 h' ELSE interval '-1 h' END
  FROM unnest(%s::uuid[], %s::bool[]) r(id, in_future)
"""
INSERT_DELIVERIES = """
INSERT INTO delivery (id, notification_id, tenant_id, channel, category, status,
                      claim_count, address_key, retry_until, finished_at)
SELECT id, notification_id, %s, channel, 'transactional', status, claim_count, '',
       app_now(), CASE WHEN status = ANY (%s::text[]) THEN app_now() END
  FROM unnest(%s::uuid[], %s::uuid[], %s::int[], %s::text[], %s::int[])
       r(id, notification_id, channel, status, claim_count)
"""


class Case(NamedTuple):
    """A notification by what its state depends on."""

    id: UUID
    statuses: tuple[DeliveryStatus, ...]
    claim_counts: tuple[int, ...]
    in_future: bool

    def state(self) -> NotificationState:
        return notification_state(
            self.statuses,
            untouched=not any(self.claim_counts),
            in_future=self.in_future,
        )


def every_case() -> list[Case]:
    """Combine up to three statuses, claimed or not, due or not."""
    return [
        Case(new_id(), statuses, claim_counts, in_future)
        for size in (1, 2, 3)
        for statuses in combinations_with_replacement(DeliveryStatus, size)
        for claim_counts in ((0,) * size, (1, *(0,) * (size - 1)))
        for in_future in (True, False)
    ]


def insert(cases: list[Case]) -> None:
    rows: list[tuple[Any, ...]] = [
        (sibling_id(case.id), case.id, channel.value, status.value, count)
        for case in cases
        for channel, status, count in zip(
            Channel, case.statuses, case.claim_counts, strict=False
        )
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            INSERT_NOTIFICATIONS,
            [TENANT, [case.id for case in cases], [case.in_future for case in cases]],
        )
        cursor.execute(
            INSERT_DELIVERIES,
            [TENANT, [s.value for s in FINISHED], *map(list, zip(*rows, strict=True))],
        )


def pages(state: NotificationState) -> dict[UUID, str]:
    """List all in a state, page by page."""
    found: dict[UUID, str] = {}
    after = None
    while True:
        standings, more = list_standings(
            tenant_id=TENANT,
            chosen=Filter(user_id="usr_1", state=state.value, after=after, limit=200),
        )
        found |= {standing.header.id: standing.state for standing in standings}
        if not more:
            return found
        after = standings[-1].header.id


@pytest.mark.django_db
def test_every_combination_is_listed_under_the_state_that_it_shows():
    cases = every_case()
    insert(cases)

    listed = {state: pages(state) for state in NotificationState}

    for case in cases:
        where = [state for state in NotificationState if case.id in listed[state]]
        assert where == [case.state()], case
        assert listed[case.state()][case.id] == case.state()
