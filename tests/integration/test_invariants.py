"""The checker finds every broken promise, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.core.management import CommandError, call_command

from foundation.ids import floor_id
from notifications.invariants import INVARIANTS, find_violations
from notifications.replay import replay
from tests.acme import Api, deliveries
from tests.emptying import empty_tables

# Each breach, and the promises that are broken by it. %(sent)s is the id of a sent
# delivery, and so on for the other ends that a delivery can come to.
BREACHES: list[tuple[set[str], str]] = [
    (
        {"I1.unfinished_has_a_row"},
        "DELETE FROM outbox WHERE delivery_id = %(pending)s",
    ),
    (
        {"I1.unfinished_has_a_row"},
        "DELETE FROM outbox WHERE delivery_id = %(parked)s",
    ),
    (
        {"I1.row_has_an_unfinished"},
        "INSERT INTO outbox SELECT %(sent)s, tenant_id, 1, 1, claim_count, app_now()"
        " FROM delivery WHERE id = %(sent)s",
    ),
    (
        {"I1.row_has_an_unfinished"},
        "INSERT INTO outbox VALUES (uuidv7(), 1, 1, 1, 0, app_now())",
    ),
    (
        {"I1.row_has_an_unfinished"},
        "UPDATE outbox SET claim_count = 9 WHERE delivery_id = %(pending)s",
    ),
    (
        {"I1.nothing_overdue"},
        "UPDATE outbox SET due_at = app_now() - interval '25 h'"
        " WHERE delivery_id = %(pending)s",
    ),
    (
        {"I17.order_is_kept"},
        "UPDATE delivery SET order_key = 1, finished_at = app_now()"
        " WHERE id IN (%(sent)s, %(retried)s)",
    ),
    (
        {"I17.who_waits_has_one_before"},
        "UPDATE delivery SET reason = 'order' WHERE id = %(pending)s",
    ),
    (
        {"I2.acceptance_is_whole"},
        "DELETE FROM delivery WHERE id = %(suppressed)s",
    ),
    (
        {"I2.acceptance_is_whole"},
        "DELETE FROM audit_event WHERE kind = 'notification.accepted' AND"
        " notification_id = (SELECT notification_id FROM delivery WHERE id = %(sent)s)",
    ),
    (
        {"I2.no_orphans", "I2.key_has_its_notification"},
        "DELETE FROM notification WHERE id ="
        " (SELECT notification_id FROM delivery WHERE id = %(sent)s)",
    ),
    (
        {"I2.no_orphans", "I11.one_tenant_throughout"},
        "UPDATE delivery SET tenant_id = tenant_id + 1 WHERE id = %(sent)s",
    ),
    (
        {"I2.key_has_its_notification"},
        "UPDATE idempotency_key SET tenant_id = tenant_id + 1 WHERE key = 'accept'",
    ),
    (
        {"I3.one_key_one_notification"},
        "INSERT INTO idempotency_key SELECT tenant_id, 'another', fingerprint,"
        " hash_version, resource, status_code, response, created_at, expires_at"
        " FROM idempotency_key WHERE key = 'accept'",
    ),
    (
        {"I4.not_sent_before_its_date"},
        "UPDATE sandbox_message SET created_at = created_at - interval '1 h'"
        " WHERE delivery_id = %(sent)s",
    ),
    *(
        (
            {"I4.not_in_quiet_hours"},
            "INSERT INTO notification_preferences (tenant_id, user_id, version,"
            " opt_outs, quiet_hours, updated_at)"
            " SELECT n.tenant_id, n.user_id, 1, '{}',"
            " jsonb_build_object('time_zone', 'UTC',"
            f" 'start', to_char(s.created_at - interval '{before}', 'HH24:MI'),"
            f" 'end', to_char(s.created_at + interval '{after}', 'HH24:MI')),"
            " s.created_at - interval '2 days'"
            " FROM sandbox_message s JOIN notification n ON n.id = s.notification_id"
            " WHERE s.delivery_id = %(sent)s",
        )
        for before, after in (("1 h", "1 h"), ("1 h", "22 h"), ("22 h", "1 h"))
    ),
    (
        {"I5.cancelled_was_not_sent_later"},
        "INSERT INTO sandbox_message SELECT uuidv7(), d.tenant_id, d.notification_id,"
        " d.id, d.channel, 1, 'accepted', true, ''::bytea,"
        " app_now() + interval '10 days' FROM delivery d WHERE id = %(cancelled)s",
    ),
    (
        {"I7.duplicates_are_explained"},
        "INSERT INTO sandbox_message SELECT uuidv7(), tenant_id, notification_id,"
        " delivery_id, channel, 2, outcome, true, sealed, created_at"
        " FROM sandbox_message WHERE delivery_id = %(sent)s",
    ),
    (
        {"I8.finished_stays_finished", "I12.finished_has_its_event"},
        "INSERT INTO audit_event SELECT uuidv7(), tenant_id, 'delivery.retried', actor,"
        " notification_id, delivery_id, '', '{}', app_now() FROM audit_event"
        " WHERE delivery_id = %(sent)s",
    ),
    (
        {"I8.finished_stays_finished"},
        "INSERT INTO audit_event SELECT uuidv7(), tenant_id, kind, actor,"
        " notification_id, delivery_id, '', '{}', app_now() FROM audit_event"
        " WHERE delivery_id = %(dead)s AND kind = 'delivery.dead'",
    ),
    (
        {"I9.attempts_are_audited"},
        "UPDATE delivery SET attempt_count = attempt_count + 1 WHERE id = %(failed)s",
    ),
    (
        {"I9.attempts_are_audited", "I12.finished_has_its_event"},
        "DELETE FROM audit_event WHERE delivery_id = %(sent)s",
    ),
    (
        {"I9.dead_letters_are_listed"},
        "DELETE FROM dead_letter WHERE delivery_id = %(dead)s",
    ),
    (
        {"I9.dead_letters_are_listed"},
        "UPDATE dead_letter SET status = 'parked' WHERE delivery_id = %(dead)s",
    ),
    (
        {"I9.dead_letters_are_listed"},
        "INSERT INTO dead_letter SELECT id, notification_id, tenant_id, channel,"
        " 'dead', '', '', 1 FROM delivery WHERE id = %(sent)s",
    ),
    *(
        (
            {"I11.one_tenant_throughout"},
            f"UPDATE {table} SET tenant_id = tenant_id + 1",
        )
        for table in (
            "outbox",
            "notification_content",
            "sandbox_message",
            "dead_letter",
            "audit_event",
        )
    ),
    (
        {"I12.finished_has_its_event"},
        "UPDATE audit_event SET kind = 'delivery.parked'"
        " WHERE delivery_id = %(expired)s AND kind = 'delivery.expired'",
    ),
    (
        {"I15.not_sent_after_expiry"},
        "UPDATE delivery SET expires_at = app_now() - interval '1 day'"
        " WHERE id = %(sent)s",
    ),
]


def live_through(api: Api, consume: Any, clock: Any, tenant_id: int) -> dict[str, UUID]:
    """Let deliveries come to every end there is; return one of each."""

    def accept(behaviour: str, **changes: Any) -> str:
        person = {"user_id": "usr_x", "email": f"{behaviour}@simulate.example"}
        return api.accept(idempotency_key=behaviour, recipient=person, **changes)

    code = {"template": {"name": "login_code"}, "variables": {"code": "1"}}
    soon = (clock.now() + timedelta(minutes=1)).isoformat()
    later = (clock.now() + timedelta(days=9)).isoformat()
    made = {
        "expired": api.accept(idempotency_key="late", expires_at=soon),
        "cancelled": accept("cancelled", send_at=later),
        "suppressed": api.accept(
            idempotency_key="nobody", recipient={"user_id": "nobody"}
        ),
    }
    api.cancel(made["cancelled"])
    clock.advance(timedelta(minutes=2))
    made |= {
        "sent": accept("accept"),
        "failed": accept("permanent"),
        "parked": accept("account-fault"),
        "unknown": accept("timeout"),
        "retried": accept("transient"),
        "dead": accept("transient+0", **code, expires_at=later),
    }
    for _ in range(3):
        consume()
        clock.advance(timedelta(minutes=4))
    made["pending"] = accept("pending", send_at=later)
    ids = {end: deliveries(one)[0]["id"] for end, one in made.items()}
    replay([ids["parked"]], tenant_ids=[tenant_id], actor="staff:an")
    consume()
    for end, one in made.items():
        told = deliveries(one)[0]["status"]
        assert told == {"unknown": "sent", "retried": "sent"}.get(end, end)
    return ids


@pytest.fixture
def history(api, acme, consume, clock) -> dict[str, UUID]:
    return live_through(api, consume, clock, acme.pk)


def flagged(owner: psycopg.Connection, since: datetime) -> set[str]:
    """Ask every promise within the owner's transaction."""
    return {
        promise.name
        for promise in INVARIANTS
        if owner.execute(promise.breaches, {"floor": floor_id(since)}).fetchall()
    }


def test_every_broken_promise_is_found_by_its_name(history, owner, subtests):
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    assert find_violations() == []
    assert flagged(owner, long_ago) == set()
    for promises, breach in BREACHES:
        with subtests.test(msg=breach[:90]), owner.transaction(force_rollback=True):
            owner.execute("SET LOCAL session_replication_role = replica")
            assert owner.execute(breach, history).rowcount > 0

            assert flagged(owner, long_ago) == promises
            # What happened before the time asked about is nobody's question.
            assert flagged(owner, datetime.now(UTC) + timedelta(days=1)) == set()


def test_every_promise_has_a_history_that_breaks_it():
    known = {promise.name for promise in INVARIANTS}

    assert set().union(*(promises for promises, _ in BREACHES)) == known
    assert len(known) == len(INVARIANTS)


@pytest.fixture
def broken(api, owner) -> Iterator[str]:
    """A notification that lost its outbox row, for real."""
    notification_id = api.accept()
    owner.execute("DELETE FROM outbox")
    yield str(deliveries(notification_id)[0]["id"])
    empty_tables(owner)


def checked(capsys, *options: str) -> tuple[int, str]:
    try:
        call_command("check_invariants", *options)
    except SystemExit as end:
        return int(str(end.code)), capsys.readouterr().out
    return 0, capsys.readouterr().out


def test_the_command_says_what_is_broken_and_fails(broken, capsys):
    name = "I1.unfinished_has_a_row"

    code, told = checked(capsys, "--json")
    assert code == 1
    assert json.loads(told) == {
        "violations": [{"invariant": name, "subject": broken, "detail": "pending"}]
    }
    code, told = checked(capsys)
    assert code == 1
    assert told == (
        f"{name}: {broken} pending\n{len(INVARIANTS)} invariants, 1 violations\n"
    )


def test_the_command_looks_only_as_far_back_as_asked(broken, capsys):
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()

    assert checked(capsys, "--json", "--since", tomorrow) == (0, '{"violations": []}\n')
    assert checked(capsys, "--since", "1969-07-20T20:17:40Z")[0] == 1
    for wrong in ("yesterday", "2026-08-19T04:00:00", ""):
        with pytest.raises(CommandError):
            call_command("check_invariants", "--since", wrong)


def test_the_command_is_content_with_a_whole_history(history, capsys):
    assert checked(capsys, "--json") == (0, '{"violations": []}\n')
    assert checked(capsys)[1] == f"{len(INVARIANTS)} invariants, 0 violations\n"
