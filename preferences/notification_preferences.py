"""Read and replace what a person does not want, one version after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypedDict

from django.db import transaction
from psycopg.types.json import Jsonb

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.statements import Cursor, server_cursor
from preferences.models import NotificationPreferences
from preferences.preconditions import Precondition, PreconditionFailed

# Compare and set: of two writers who read one version, the second waits for the first
# and then finds another version.
REPLACE = """
UPDATE notification_preferences
   SET version = version + 1, opt_outs = %(opt_outs)s, quiet_hours = %(quiet_hours)s,
       category_choices = %(category_choices)s, snoozed_until = %(snoozed_until)s,
       updated_at = app_now()
 WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s
   AND (%(any_stored)s OR version = ANY (%(versions)s::int[]))
RETURNING id, version, updated_at
"""
CREATE = """
INSERT INTO notification_preferences
       (tenant_id, user_id, version, opt_outs, quiet_hours, category_choices,
        snoozed_until, updated_at)
VALUES (%(tenant_id)s, %(user_id)s, 1, %(opt_outs)s, %(quiet_hours)s,
        %(category_choices)s, %(snoozed_until)s, app_now())
    ON CONFLICT (tenant_id, user_id) DO NOTHING
RETURNING id, version, updated_at
"""


class QuietHours(TypedDict):
    """From when until when; in the recipient's own time zone where none is named."""

    start: str
    end: str
    time_zone: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a person asks for.

    `categories` is category, channel, whether it is wanted: what is left out is as the
    tenant has it.
    """

    opt_outs: Sequence[str] = ()
    quiet_hours: QuietHours | None = None
    categories: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    snooze_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPreferences:
    """Choices with their version; 0 is a person who never chose."""

    choices: Choices
    version: int = 0
    updated_at: datetime | None = None


def read_preferences(*, tenant_id: int, user_id: str) -> StoredPreferences:
    """Return the stored preferences, or version 0 with nothing chosen."""
    stored = NotificationPreferences.objects.filter(
        tenant_id=tenant_id, user_id=user_id
    ).first()
    if stored is None:
        return StoredPreferences(choices=Choices())
    return StoredPreferences(
        choices=Choices(
            opt_outs=stored.opt_outs,
            quiet_hours=stored.quiet_hours,
            categories=stored.category_choices,
            snooze_until=stored.snoozed_until,
        ),
        version=stored.version,
        updated_at=stored.updated_at,
    )


def replace_preferences(
    *,
    tenant_id: int,
    user_id: str,
    precondition: Precondition,
    choices: Choices,
    actor: str,
) -> StoredPreferences:
    """Store the next version; raise PreconditionFailed unless the last one matches."""
    parameters = {
        "tenant_id": tenant_id,
        "user_id": user_id,
        "opt_outs": list(choices.opt_outs),
        "quiet_hours": Jsonb(choices.quiet_hours) if choices.quiet_hours else None,
        "category_choices": Jsonb(choices.categories),
        "snoozed_until": choices.snooze_until,
        "versions": list(precondition.versions),
        "any_stored": precondition.any_stored,
    }
    with transaction.atomic(), server_cursor() as cursor:
        stored = _execute(cursor, REPLACE, parameters)
        if stored is None and 0 in precondition.versions:
            stored = _execute(cursor, CREATE, parameters)
        if stored is None:
            raise PreconditionFailed
        row_id, version, updated_at = stored
        # By row id, not by user id: the trail outlives an erasure.
        changed = AuditRecord(
            kind=EventKind.PREFERENCES_CHANGED,
            tenant_id=tenant_id,
            actor=actor,
            detail={
                "preferences": row_id,
                "version": version,
                "opt_outs": parameters["opt_outs"],
                "categories": choices.categories,
                "snooze_until": choices.snooze_until and str(choices.snooze_until),
            },
        )
        record_events(cursor, [changed])
    return StoredPreferences(choices=choices, version=version, updated_at=updated_at)


def _execute(
    cursor: Cursor, statement: str, parameters: dict[str, object]
) -> tuple[int, int, datetime] | None:
    cursor.execute(statement, parameters)
    row: tuple[int, int, datetime] | None = cursor.fetchone()
    return row
