"""Addresses that nothing, or nothing of a category, may be sent to any more.

By keyed hash: the list holds no address, so that it survives the erasure of a person
and covers every spelling, whoever has the address and whoever names it in a call.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.ids import new_id, public_id
from foundation.statements import Cursor, server_cursor
from preferences.held import Held, Reason
from preferences.models import Suppression
from providers.channels import Channel

# A tenant, a channel's number and the hash of an address there.
Place = tuple[int, int, bytes]


class UnknownSuppression(LookupError):
    """There is no such entry, or it was lifted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is to be held back, who says so, and which notification showed it, if any;
    `detail` is for the trail."""

    tenant_id: int
    channel: Channel
    key: bytes
    held: Held
    actor: str
    notification_id: UUID | None = None
    detail: Mapping[str, object] = field(default_factory=dict)


# OFFSET 0 keeps it one index look-up for each address: a plain join may be turned into
# a hash of the whole list.
_FIND = """
SELECT r.tenant_id, r.channel, r.key, held.reason, held.category
  FROM unnest(%s::bigint[], %s::smallint[], %s::bytea[]) r (tenant_id, channel, key),
       LATERAL (SELECT s.reason, s.category FROM suppression s
                 WHERE s.tenant_id = r.tenant_id AND s.channel = r.channel
                   AND s.key = r.key AND s.lifted_at IS NULL OFFSET 0) held
"""
# In the order of the unique index: two batches wait for each other, never crosswise.
_ADD = """
INSERT INTO suppression (id, tenant_id, channel, key, category, reason, created_by)
SELECT r.*
  FROM unnest(%s::uuid[], %s::bigint[], %s::smallint[], %s::bytea[], %s::text[],
              %s::text[], %s::text[])
       r (id, tenant_id, channel, key, category, reason, created_by)
 ORDER BY r.tenant_id, r.channel, r.key, r.category, r.reason
    ON CONFLICT (tenant_id, channel, key, category, reason) WHERE lifted_at IS NULL
    DO NOTHING
RETURNING id
"""
_LIFT = """
UPDATE suppression SET lifted_at = app_now(), lifted_by = %s
 WHERE id = %s AND tenant_id = %s AND lifted_at IS NULL
RETURNING channel, category, reason
"""


def find_suppressions(places: Collection[Place]) -> Mapping[Place, Sequence[Held]]:
    """Return what holds for each of many addresses; one query, none for nobody."""
    found: dict[Place, list[Held]] = {}
    if not places:
        return found
    tenant_ids, channels, keys = zip(*places, strict=True)
    with server_cursor() as cursor:
        cursor.execute(_FIND, [list(tenant_ids), list(channels), list(keys)])
        for tenant_id, channel, key, reason, category in cursor.fetchall():
            held = Held(reason=Reason(reason), category=category)
            found.setdefault((tenant_id, channel, bytes(key)), []).append(held)
    return found


def add_suppression(entry: Entry) -> Suppression:
    """Put an address on the list; the entry that there is already is returned."""
    with transaction.atomic(), server_cursor() as cursor:
        add_suppressions(cursor, [entry])
        return Suppression.objects.get(
            tenant_id=entry.tenant_id,
            channel=entry.channel.value,
            key=entry.key,
            category=entry.held.category,
            reason=entry.held.reason,
            lifted_at=None,
        )


def add_suppressions(cursor: Cursor, entries: Sequence[Entry]) -> None:
    """Put addresses on the list, and into the trail those that were not there yet."""
    if not entries:
        return
    new = {new_id(): entry for entry in entries}
    rows = [(entry_id, *_row(entry)) for entry_id, entry in new.items()]
    cursor.execute(_ADD, list(map(list, zip(*rows, strict=True))))
    added = [row[0] for row in cursor.fetchall()]
    record_events(cursor, [_added(each, new[each]) for each in added])


def lift_suppression(*, tenant_id: int, suppression_id: UUID, actor: str) -> None:
    """Take an entry off the list; raise UnknownSuppression."""
    with transaction.atomic(), server_cursor() as cursor:
        cursor.execute(_LIFT, [actor, suppression_id, tenant_id])
        if (row := cursor.fetchone()) is None:
            raise UnknownSuppression
        channel, category, reason = row
        lifted = AuditRecord(
            kind=EventKind.SUPPRESSION_LIFTED,
            tenant_id=tenant_id,
            actor=actor,
            detail={
                "suppression": public_id("sup", suppression_id),
                "channel": Channel(channel).key,
                "reason": reason,
                "category": category,
            },
        )
        record_events(cursor, [lifted])


def _row(entry: Entry) -> tuple[object, ...]:
    held, place = entry.held, (entry.tenant_id, entry.channel.value, entry.key)
    return (*place, held.category, held.reason.value, entry.actor)


def _added(entry_id: UUID, entry: Entry) -> AuditRecord:
    return AuditRecord(
        kind=EventKind.SUPPRESSION_ADDED,
        tenant_id=entry.tenant_id,
        actor=entry.actor,
        notification_id=entry.notification_id,
        detail={
            "suppression": public_id("sup", entry_id),
            "channel": entry.channel.key,
            "reason": entry.held.reason.value,
            "category": entry.held.category,
            **entry.detail,
        },
    )
