"""What acceptances left in the database: counted, compared, and cleared away."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from benchmarks.failure import BenchmarkFailed
from foundation.ids import parse_public_id

# Tables by the column that holds an id minted with or after the notification's.
TABLES = {
    "idempotency_key": "resource",
    "notification": "id",
    "notification_content": "id",
    "delivery": "id",
    "outbox": "delivery_id",
    "audit_event": "id",
    "dead_letter": "delivery_id",
    "inbox_item": "delivery_id",
    "sandbox_message": "delivery_id",
}
_COUNTS = """
SELECT (SELECT count(*) FROM idempotency_key WHERE resource >= %(floor)s) AS keys,
       (SELECT count(*) FROM notification_content WHERE id >= %(floor)s) AS contents,
       (SELECT count(*) FROM delivery WHERE id >= %(floor)s) AS deliveries,
       (SELECT count(*) FROM delivery
         WHERE id >= %(floor)s AND status IN ('pending', 'sending')) AS unfinished,
       (SELECT count(*) FROM delivery
         WHERE id >= %(floor)s AND status = 'suppressed') AS suppressed,
       (SELECT count(*) FROM outbox WHERE delivery_id >= %(floor)s) AS queued,
       (SELECT count(*) FROM audit_event
         WHERE id >= %(floor)s AND kind = 'notification.accepted') AS told,
       (SELECT count(*) FROM audit_event
         WHERE id >= %(floor)s AND kind = 'delivery.suppressed') AS suppressions_told
"""
# The rows of one notification, as the six tables have them.
_ROWS_OF = {
    "idempotency_key": "resource = %(id)s",
    "notification": "id = %(id)s",
    "notification_content": "id = %(id)s",
    "delivery": "notification_id = %(id)s",
    "outbox": "delivery_id IN (SELECT id FROM delivery WHERE notification_id = %(id)s)",
    "audit_event": "notification_id = %(id)s",
}


def check_accepted(
    database: str, *, floor: UUID, answers: Sequence[bytes], channels: int
) -> None:
    """Raise unless the rows since `floor` are those of the answers, whole."""
    answered = {notification_id(answer) for answer in answers}
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT id FROM notification WHERE id >= %s", [floor]
        ).fetchall()
        with connection.cursor(row_factory=dict_row) as cursor:
            counted = cursor.execute(_COUNTS, {"floor": floor}).fetchone() or {}
    stored = {row[0] for row in found}
    if stored != answered or len(answers) != len(answered):
        raise BenchmarkFailed(
            f"{len(answers)} answers name {len(answered)} notifications;"
            f" {len(stored)} are stored, {len(stored & answered)} of them answered"
        )
    number = len(answered)
    expected = {
        "keys": number,
        "contents": number,
        "deliveries": number * channels,
        "unfinished": counted["unfinished"],
        "suppressed": counted["suppressed"],
        "queued": counted["unfinished"],
        "told": number,
        "suppressions_told": counted["suppressed"],
    }
    if counted != expected:
        raise BenchmarkFailed(f"rows of {number} notifications: {counted}")


_THROUGHPUT = """
SELECT count(*) / extract(epoch FROM
         (SELECT max(finished_at) FROM delivery WHERE id >= %(floor)s)
         - min(created_at))
  FROM notification WHERE id >= %(floor)s
"""


def throughput_since(database: str, floor: UUID) -> float:
    """Return the notifications a second, from the first acceptance since `floor` to
    the end of the last delivery; all of them must be finished."""
    with psycopg.connect(database) as connection:
        row = connection.execute(_THROUGHPUT, {"floor": floor}).fetchone()
    return float(row[0]) if row else 0.0


def notification_id(answer: bytes) -> UUID:
    """Read the id out of a 202."""
    return parse_public_id("ntf", json.loads(answer)["notification_id"])


def rows_of(database: str, notification: UUID) -> dict[str, list[dict[str, Any]]]:
    """Return a notification's rows without what must differ between two of them.

    Ids and keys are left as whether there is one, ciphertexts as their length, dates
    as seconds after the row was made.
    """
    with psycopg.connect(database, row_factory=dict_row) as connection:
        return {
            table: sorted(
                (
                    _comparable(row)
                    for row in connection.execute(
                        sql.SQL(f"SELECT * FROM {table} WHERE {where}"),
                        {"id": notification},
                    )
                ),
                key=repr,
            )
            for table, where in _ROWS_OF.items()
        }


def _comparable(row: dict[str, Any]) -> dict[str, Any]:
    made_at = row.get("created_at") or row.get("updated_at") or row.get("due_at")
    return {
        name: _comparable_value(name, value, made_at) for name, value in row.items()
    }


def _comparable_value(name: str, value: Any, made_at: Any) -> Any:
    match value:
        case UUID():
            return "an id"
        case datetime():
            return round((value - made_at).total_seconds())
        case bytes() if name == "response":
            answer = json.loads(value) | {"notification_id": "an id"}
            return _without_moments(answer)
        case bytes() if name == "sealed":
            return f"{len(value)} bytes"
        case str() if name == "key":
            return "a key"
    return _without_moments(value)


def _without_moments(told: Any) -> Any:
    """Leave out for which moments policy decided."""
    match told:
        case dict():
            members = {key: value for key, value in told.items() if key != "at"}
            return {key: _without_moments(each) for key, each in members.items()}
        case list():
            return [_without_moments(each) for each in told]
    return told


def forget_since(owner: str, floor: UUID) -> None:
    """Delete what was accepted since, so that the next measurement starts as this."""
    with psycopg.connect(owner) as connection:
        # Past the triggers that guard the audit; the owner of the tables may.
        connection.execute("SET LOCAL session_replication_role = replica")
        for table, column in TABLES.items():
            connection.execute(
                sql.SQL("DELETE FROM {} WHERE {} >= %s").format(
                    sql.Identifier(table), sql.Identifier(column)
                ),
                [floor],
            )
