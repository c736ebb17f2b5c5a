"""The outbox row outlives whoever holds it."""

from __future__ import annotations

import signal
import threading
import time
from datetime import timedelta

import psycopg
from django.db import connection, transaction

from foundation.statements import server_cursor
from notifications import outbox
from tests.acme import deliveries, query
from tests.factories.notifications import Row, insert

LEASE_OVER = timedelta(seconds=61)


def test_a_claim_whose_worker_died_before_the_call_is_made_good(
    api, consumer_process, consume, clock
):
    notification_id = api.accept()
    process = consumer_process("--once", NOTIFY_FAILPOINTS="consumer.after_claim=kill")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert query("SELECT 1 FROM sandbox_message") == []

    clock.advance(LEASE_OVER)
    consume()

    (delivery,) = deliveries(notification_id)
    assert delivery["status"] == "sent"


def test_a_paused_worker_that_wakes_up_changes_nothing(
    api, consumer_process, consume, clock
):
    """F28: stopped between the call and its note, taken over meanwhile."""
    notification_id = api.accept()
    process = consumer_process(
        "--once", NOTIFY_FAILPOINTS="consumer.before_settle=stop"
    )
    wait_until_stopped(process.pid)
    clock.advance(LEASE_OVER)
    consume()
    settled = deliveries(notification_id)

    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)

    assert process.returncode == 0
    assert deliveries(notification_id) == settled
    kinds = [row["kind"] for row in query("SELECT kind FROM audit_event ORDER BY id")]
    assert "delivery.late_answer" in kinds


def test_losing_every_database_connection_loses_no_message(
    api, consumer_process, owner
):
    """F10 in the small: backends are terminated while a consumer works."""
    ids = [
        api.accept(
            idempotency_key=f"key-{number}",
            recipient={
                "user_id": "usr_x",
                "email": f"slow+{number % 3}@simulate.example",
            },
        )
        for number in range(20)
    ]
    process = consumer_process()
    wait_for("SELECT 1 FROM sandbox_message")
    for _ in range(3):
        owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.close()
        time.sleep(0.2)
    wait_for("SELECT 1 WHERE NOT EXISTS (SELECT FROM outbox)", seconds=90)
    process.terminate()
    process.communicate(timeout=60)

    assert process.returncode == 0
    assert {deliveries(one)[0]["status"] for one in ids} == {"sent"}


def test_sigterm_finishes_what_is_in_flight(api, consumer_process):
    """F30: no unknown outcome is left behind by a stop."""
    notification_id = api.accept(
        recipient={"user_id": "usr_x", "email": "slow+2@simulate.example"}
    )
    process = consumer_process()
    wait_for("SELECT 1 FROM delivery WHERE status = 'sending'")

    process.terminate()
    process.communicate(timeout=60)

    assert process.returncode == 0
    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["maybe_sent"]) == ("sent", False)


def test_a_row_whose_delivery_is_impossible_does_not_stop_its_lane(
    api, consume, committed
):
    orphan = insert(Row(tenant_id=1))
    query("DELETE FROM delivery WHERE id = %s RETURNING 1", orphan.delivery_id)
    notification_id = api.accept()

    consume()
    consume()

    (delivery,) = deliveries(notification_id)
    assert delivery["status"] == "sent"
    query("DELETE FROM outbox WHERE delivery_id = %s RETURNING 1", orphan.delivery_id)
    query("DELETE FROM notification WHERE accepted_by = 'service:test' RETURNING 1")


def test_a_settle_that_waits_for_a_lock_that_is_rolled_back_still_wins(committed):
    """F29: a canceller held the row and thought better of it."""
    fence = insert(Row(claim_count=1))
    locked, release = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic(), server_cursor() as cursor:
            outbox.lock(cursor, [fence.delivery_id])
            locked.set()
            release.wait(timeout=20)
            transaction.set_rollback(True)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    locked.wait(timeout=20)
    threading.Timer(0.3, release.set).start()
    with transaction.atomic(), server_cursor() as cursor:
        assert outbox.lock_owned(cursor, [fence]) == {fence}
    holder.join()


def wait_for(statement: str, *, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if query(statement):
                return
        except psycopg.Error:
            connection.close()
        except Exception:  # noqa: BLE001 - Django's wrapper of the same
            connection.close()
        time.sleep(0.05)
    raise AssertionError(f"never true: {statement}")


def wait_until_stopped(pid: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with open(f"/proc/{pid}/stat") as stat:
            if stat.read().rsplit(")", 1)[1].split()[0] == "T":
                return
        time.sleep(0.02)
    raise AssertionError("never stopped")
