"""Remember what providers say of addresses: the next message is not sent there.

A dead device is removed; a number or mailbox that takes nothing, or whose owner told
the provider to stop, goes on the suppression list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.ids import new_id, public_id
from foundation.statements import Cursor
from preferences.held import Reason
from providers.base import Scope
from providers.channels import Channel

# By its key too: whoever has registered another token since has another device.
_REMOVE_DEVICES = """
DELETE FROM device d
 WHERE d.id IN (SELECT l.id
                  FROM unnest(%s::uuid[], %s::bytea[]) r (id, key)
                  JOIN device l ON l.id = r.id AND l.key = r.key
                 ORDER BY l.id
                   FOR UPDATE OF l)
RETURNING d.id
"""
# In the order of the unique index: two batches wait for each other, never crosswise.
_SUPPRESS = """
INSERT INTO suppression (id, tenant_id, channel, key, category, reason, created_by)
SELECT r.id, r.tenant_id, r.channel, r.key, '', r.reason, %s
  FROM unnest(%s::uuid[], %s::bigint[], %s::smallint[], %s::bytea[], %s::text[])
       r (id, tenant_id, channel, key, reason)
 ORDER BY r.tenant_id, r.channel, r.key, r.reason
    ON CONFLICT (tenant_id, channel, key, category, reason) WHERE lifted_at IS NULL
    DO NOTHING
RETURNING id
"""
_REASONS = {Scope.ADDRESS: Reason.HARD_BOUNCE, Scope.OPT_OUT: Reason.STOP}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadAddress:
    """What a provider said of the address of one delivery."""

    tenant_id: int
    notification_id: UUID
    delivery_id: UUID
    channel: Channel
    # The device's for push; None for an address that belongs to nobody's profile.
    address_id: UUID | None
    key: bytes = field(repr=False)
    scope: Scope


def is_dead(scope: Scope) -> bool:
    """Tell whether a refusal for this reason means every later message too."""
    return scope is Scope.TOKEN or scope in _REASONS


def note_dead(cursor: Cursor, dead: Sequence[DeadAddress], *, actor: str) -> None:
    """Remove the devices, suppress the addresses, and say so in the trail."""
    devices = [known for known in dead if known.scope is Scope.TOKEN]
    others = [known for known in dead if known.scope in _REASONS]
    events = [
        *_remove_devices(cursor, devices, actor=actor),
        *_suppress(cursor, others, actor=actor),
    ]
    record_events(cursor, events)


def _remove_devices(
    cursor: Cursor, dead: Sequence[DeadAddress], *, actor: str
) -> list[AuditRecord]:
    known = {each.address_id: each for each in dead if each.address_id is not None}
    if not known:
        return []
    keys = [each.key for each in known.values()]
    cursor.execute(_REMOVE_DEVICES, [list(known), keys])
    return [
        _event(
            EventKind.DEVICE_DIED,
            known[device_id],
            {"device": public_id("dev", device_id)},
            actor=actor,
        )
        for (device_id,) in cursor.fetchall()
    ]


def _suppress(
    cursor: Cursor, dead: Sequence[DeadAddress], *, actor: str
) -> list[AuditRecord]:
    if not dead:
        return []
    known = {new_id(): each for each in dead}
    rows = [
        (entry, each.tenant_id, each.channel.value, each.key, _reason(each))
        for entry, each in known.items()
    ]
    cursor.execute(_SUPPRESS, [actor, *map(list, zip(*rows, strict=True))])
    return [
        _event(
            EventKind.SUPPRESSION_ADDED,
            known[entry],
            {
                "suppression": public_id("sup", entry),
                "reason": _reason(known[entry]),
                "category": "",
            },
            actor=actor,
        )
        for (entry,) in cursor.fetchall()
    ]


def _reason(dead: DeadAddress) -> str:
    return _REASONS[dead.scope].value


def _event(
    kind: EventKind, dead: DeadAddress, detail: dict[str, object], *, actor: str
) -> AuditRecord:
    return AuditRecord(
        kind=kind,
        tenant_id=dead.tenant_id,
        actor=actor,
        notification_id=dead.notification_id,
        # No event of the delivery's: that is over.
        detail={
            "channel": dead.channel.key,
            "delivery": public_id("dlv", dead.delivery_id),
            **detail,
        },
    )
