"""People opt out while consumers claim what is meant for them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence

import psycopg
import pytest
from django.test import Client

from preferences.models import NotificationPreferences
from tenants.models import Tenant
from tests.acme import Api, query
from tests.kafka import is_all_finished, wait_until
from tests.racing import consumers, many_races, race, rounds, tell

# The database itself says which came first. When a claim takes its outbox row, and as
# the very last thing before its COMMIT, a trigger notes which transactions are
# committed, in a snapshot of that moment: not the one in which the claim has read the
# preferences. An opt-out that the second note has came before the claim was committed,
# so that nothing may go out. One that it has not may still have slipped in before the
# COMMIT, or was obeyed although it came later: then a call is right, and none is too.
WATCH_CLAIMS = """
CREATE TABLE claim_seen (delivery_id uuid, at_start boolean, committed pg_snapshot);
CREATE FUNCTION note_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO claim_seen
  VALUES (NEW.delivery_id, TG_ARGV[0]::boolean, pg_current_snapshot());
  RETURN NULL;
END $$;
CREATE TRIGGER note_start AFTER UPDATE ON outbox
  FOR EACH ROW WHEN (OLD.claim_count = 0 AND NEW.claim_count = 1)
  EXECUTE FUNCTION note_claim('true');
CREATE CONSTRAINT TRIGGER note_commit AFTER UPDATE ON outbox
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.claim_count = 0 AND NEW.claim_count = 1)
  EXECUTE FUNCTION note_claim('false');
"""
UNWATCH = """
DROP TRIGGER note_start ON outbox;
DROP TRIGGER note_commit ON outbox;
DROP FUNCTION note_claim;
DROP TABLE claim_seen;
"""
# xmin: the transaction that wrote the row, here the opt-out.
HOW_THEY_ENDED = """
SELECT d.status,
       (SELECT count(*) FROM sandbox_message s WHERE s.delivery_id = d.id) AS calls,
       CASE WHEN pg_visible_in_snapshot(p.xmin::text::xid8, start.committed)
              THEN 'before the claim'
            WHEN pg_visible_in_snapshot(p.xmin::text::xid8, commit.committed)
              THEN 'before its commit'
            ELSE 'after it' END AS came
  FROM notification n
  JOIN delivery d ON d.notification_id = n.id
  JOIN notification_preferences p
       ON p.tenant_id = n.tenant_id AND p.user_id = n.user_id
  JOIN claim_seen start ON start.delivery_id = d.id AND start.at_start
  JOIN claim_seen commit ON commit.delivery_id = d.id AND NOT commit.at_start
 WHERE n.user_id = ANY (%s)
"""


@pytest.fixture
def watched(committed: None, owner: psycopg.Connection) -> Iterator[None]:
    """Let the database note what every claim should have seen."""
    owner.execute(WATCH_CLAIMS)
    yield
    owner.execute(UNWATCH)


def person(number: int) -> str:
    return f"usr_{number}"


def opt_out_each(api: Api, numbers: Sequence[int]) -> list[int]:
    """Accept an e-mail for each of a handful of people; then all of them opt out."""
    mine = Api(Client(), api.headers)
    for number in numbers:
        address = {"user_id": person(number), "email": "a@b.example"}
        mine.accept(idempotency_key=f"race-{number}", recipient=address)
    return [opt_out(mine, number) for number in numbers]


def opt_out(api: Api, number: int) -> int:
    answer = api.put(
        f"/v1/users/{person(number)}/notification-preferences",
        {"opt_outs": ["email"], "quiet_hours": None},
        **{"If-Match": f'"{stored_version(number)}"'},
    )
    code: int = answer.status_code
    return code


def stored_version(number: int) -> int:
    """Let every other person have chosen before."""
    return number % 2


@many_races
def test_an_opt_out_that_is_committed_before_a_claim_is_obeyed(
    api: Api, acme: Tenant, watched: None, races: int
) -> None:
    """F51, I6"""
    seen: Counter[str] = Counter()
    started = time.monotonic()

    with consumers():
        for numbers in rounds(races):
            NotificationPreferences.objects.bulk_create(
                NotificationPreferences(
                    tenant=acme, user_id=person(number), version=1, opt_outs=[]
                )
                for number in numbers
                if stored_version(number)
            )
            answers = race(numbers, lambda handful: opt_out_each(api, handful))
            wait_until(is_all_finished)

            assert set(answers) == {200}
            rows = query(HOW_THEY_ENDED, [person(number) for number in numbers])
            assert len(rows) == len(numbers)
            for row in rows:
                right = {("suppressed", 0)}
                if row["came"] == "after it":
                    right.add(("sent", 1))
                assert (row["status"], row["calls"]) in right, row
                seen[f"{row['came']}: {row['status']}"] += 1

    took = time.monotonic() - started
    tell(f"{races:,} opt-outs against claims, {took:.0f} s: {dict(seen)}")
    # Each side wins, and some come upon a claim under way.
    assert seen["before the claim: suppressed"] >= races // 100
    assert seen["after it: sent"] >= races // 100
    assert seen["before its commit: suppressed"] >= races // 100
