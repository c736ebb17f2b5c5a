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
from foundation.ids import public_id
from foundation.statements import Cursor
from preferences.held import Held, Reason
from preferences.suppression import Entry, add_suppressions
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
    _remove_devices(
        cursor, [each for each in dead if each.scope is Scope.TOKEN], actor=actor
    )
    add_suppressions(
        cursor, [_entry(each, actor=actor) for each in dead if each.scope in _REASONS]
    )


def _remove_devices(cursor: Cursor, dead: Sequence[DeadAddress], *, actor: str) -> None:
    known = {each.address_id: each for each in dead if each.address_id is not None}
    if not known:
        return
    keys = [each.key for each in known.values()]
    cursor.execute(_REMOVE_DEVICES, [list(known), keys])
    removed = [row[0] for row in cursor.fetchall()]
    record_events(cursor, [_died(each, known[each], actor=actor) for each in removed])


def _died(device_id: UUID, dead: DeadAddress, *, actor: str) -> AuditRecord:
    return AuditRecord(
        kind=EventKind.DEVICE_DIED,
        tenant_id=dead.tenant_id,
        actor=actor,
        notification_id=dead.notification_id,
        detail={
            "channel": dead.channel.key,
            "device": public_id("dev", device_id),
            **_delivery(dead),
        },
    )


def _entry(dead: DeadAddress, *, actor: str) -> Entry:
    return Entry(
        tenant_id=dead.tenant_id,
        channel=dead.channel,
        key=dead.key,
        held=Held(reason=_REASONS[dead.scope]),
        actor=actor,
        notification_id=dead.notification_id,
        detail=_delivery(dead),
    )


def _delivery(dead: DeadAddress) -> dict[str, object]:
    """Name the delivery in the detail: it is over, and this no event of its own."""
    return {"delivery": public_id("dlv", dead.delivery_id)}
