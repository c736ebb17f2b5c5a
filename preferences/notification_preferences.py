"""Read and replace what a person does not want, one version after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from psycopg.types.json import Jsonb

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.quiet_windows import StoredQuietHours
from foundation.statements import Cursor, server_cursor
from preferences.consent import (
    Change,
    Consent,
    Source,
    Statement,
    changed_choices,
    changed_opt_outs,
    record_consents,
)
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
RETURNING id, new.version, new.updated_at, old.opt_outs, old.category_choices
"""
CREATE = """
INSERT INTO notification_preferences
       (tenant_id, user_id, version, opt_outs, quiet_hours, category_choices,
        snoozed_until, updated_at)
VALUES (%(tenant_id)s, %(user_id)s, 1, %(opt_outs)s, %(quiet_hours)s,
        %(category_choices)s, %(snoozed_until)s, app_now())
    ON CONFLICT (tenant_id, user_id) DO NOTHING
RETURNING id, version, updated_at, ARRAY[]::text[], '{}'::jsonb
"""
# Whatever else the person chose meanwhile stays; nothing is written where it was so.
CHOOSE = """
INSERT INTO notification_preferences AS p
       (tenant_id, user_id, version, opt_outs, category_choices, updated_at)
VALUES (%(tenant_id)s, %(user_id)s, 1, '{}',
        jsonb_build_object(%(category)s::text,
                           jsonb_build_object(%(channel)s::text, %(wanted)s::boolean)),
        app_now())
    ON CONFLICT (tenant_id, user_id) DO UPDATE
   SET version = p.version + 1, updated_at = app_now(),
       category_choices = p.category_choices || jsonb_build_object(
         %(category)s::text,
         coalesce(p.category_choices -> %(category)s, '{}')
           || jsonb_build_object(%(channel)s::text, %(wanted)s::boolean))
 WHERE p.category_choices -> %(category)s -> %(channel)s
       IS DISTINCT FROM to_jsonb(%(wanted)s::boolean)
RETURNING id, version, opt_outs, category_choices
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a person asks for.

    `categories` is category, channel, whether it is wanted: what is left out is as the
    tenant has it.
    """

    opt_outs: Sequence[str] = ()
    quiet_hours: StoredQuietHours | None = None
    categories: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    snooze_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """Who says so, where, to which words, and what shows it."""

    actor: str
    source: Source = Source.API
    wording: str = ""
    evidence: str = field(default="", repr=False)


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
    said: Saying,
) -> StoredPreferences:
    """Store the next version; raise PreconditionFailed unless the last one matches.

    The ledger of consents tells what of it is otherwise than before.
    """
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
        row_id, version, updated_at, opt_outs_before, choices_before = stored
        consents = [
            *changed_opt_outs(opt_outs_before, choices.opt_outs),
            *changed_choices(choices_before, choices.categories),
        ]
        record_consents(cursor, _statement(tenant_id, user_id, said), consents)
        _record_change(
            cursor,
            tenant_id=tenant_id,
            actor=said.actor,
            detail={
                "preferences": row_id,
                "version": version,
                "opt_outs": parameters["opt_outs"],
                "categories": choices.categories,
                "snooze_until": choices.snooze_until and str(choices.snooze_until),
            },
        )
    return StoredPreferences(choices=choices, version=version, updated_at=updated_at)


def choose(*, tenant_id: int, user_id: str, consent: Consent, said: Saying) -> bool:
    """Store whether a category is wanted on a channel; False if it was stored already.

    Whatever the version is: somebody who wants out does not lose to somebody else.
    """
    if consent.channel is None:
        raise ValueError("a choice is made for one channel")
    parameters: dict[str, object] = {
        "tenant_id": tenant_id,
        "user_id": user_id,
        "category": consent.category,
        "channel": consent.channel.key,
        "wanted": consent.change is Change.GIVEN,
    }
    with transaction.atomic(), server_cursor() as cursor:
        cursor.execute(CHOOSE, parameters)
        row = cursor.fetchone()
        if row is None:
            return False
        row_id, version, opt_outs, choices = row
        record_consents(cursor, _statement(tenant_id, user_id, said), [consent])
        _record_change(
            cursor,
            tenant_id=tenant_id,
            actor=said.actor,
            detail={
                "preferences": row_id,
                "version": version,
                "opt_outs": opt_outs,
                "categories": choices,
            },
        )
    return True


def note_consent(
    *, tenant_id: int, user_id: str, consent: Consent, said: Saying
) -> None:
    """Store a choice with what it was said by; what is said again is noted again."""
    with transaction.atomic(), server_cursor() as cursor:
        is_new = choose(
            tenant_id=tenant_id, user_id=user_id, consent=consent, said=said
        )
        if not is_new:
            record_consents(cursor, _statement(tenant_id, user_id, said), [consent])


def _statement(tenant_id: int, user_id: str, said: Saying) -> Statement:
    return Statement(
        tenant_id=tenant_id,
        user_id=user_id,
        source=said.source,
        actor=said.actor,
        wording=said.wording,
        evidence=said.evidence,
    )


def _record_change(
    cursor: Cursor, *, tenant_id: int, actor: str, detail: Mapping[str, object]
) -> None:
    # By row id, not by user id: the trail outlives an erasure.
    changed = AuditRecord(
        kind=EventKind.PREFERENCES_CHANGED,
        tenant_id=tenant_id,
        actor=actor,
        detail=detail,
    )
    record_events(cursor, [changed])


def _execute(
    cursor: Cursor, statement: str, parameters: dict[str, object]
) -> tuple[Any, ...] | None:
    cursor.execute(statement, parameters)
    row: tuple[Any, ...] | None = cursor.fetchone()
    return row
