"""Keep what a tenant tells us about people and how to reach them, many at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from foundation.ids import new_id
from foundation.sealing import SealBroken
from foundation.statements import Cursor, server_cursor
from preferences.address_keys import address_key
from preferences.models import Address
from preferences.recipients import RecipientDetails, TypedAddress, open_address
from providers.channels import Channel
from tenants.data_keys import seal


class Saved(StrEnum):
    """What saving a person came to."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


# In the order of the ids, here and below: two calls about the same people wait for each
# other and never crosswise.
_CREATE = """
INSERT INTO recipient (tenant_id, user_id, locale, time_zone, country)
SELECT %s, r.user_id, r.locale, r.time_zone, r.country
  FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[])
       r (user_id, locale, time_zone, country)
 ORDER BY r.user_id
    ON CONFLICT (tenant_id, user_id) DO NOTHING
RETURNING user_id
"""
# The rows stay locked: two changes of one person come one after the other.
_LOCK = """
SELECT id, user_id, locale, time_zone, country FROM recipient
 WHERE tenant_id = %s AND user_id = ANY (%s::text[])
 ORDER BY user_id
   FOR NO KEY UPDATE
"""
_UPDATE = """
UPDATE recipient p
   SET locale = r.locale, time_zone = r.time_zone, country = r.country,
       updated_at = app_now()
  FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[])
       r (id, locale, time_zone, country)
 WHERE p.id = r.id
"""
_FORGET_ADDRESSES = "DELETE FROM address WHERE id = ANY (%s::uuid[])"
_SAVE_ADDRESSES = """
INSERT INTO address
       (id, recipient_id, channel, typed, normalised, key, status, position)
SELECT r.* FROM unnest(%s::uuid[], %s::bigint[], %s::smallint[], %s::bytea[],
                       %s::bytea[], %s::bytea[], %s::text[], %s::smallint[]) r
    ON CONFLICT (recipient_id, channel, key) DO UPDATE
   SET typed = excluded.typed, normalised = excluded.normalised,
       status = excluded.status, position = excluded.position
"""


class _Person(NamedTuple):
    """A row of _LOCK."""

    id: int
    user_id: str
    locale: str
    time_zone: str
    country: str


# A person's channel and an address's key there.
_Place = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class _AddressRow:
    id: UUID
    place: _Place
    typed: str = field(repr=False)
    normalised: str = field(repr=False)
    status: str
    position: int


def save_recipients(
    *, tenant_id: int, people: Mapping[str, RecipientDetails]
) -> Mapping[str, Saved]:
    """Create or replace people by their user ids; those who are as told already are
    left alone.

    An address that stays keeps its id and status. A new one gets a new id, so that
    what was on its way to the old address does not follow.
    """
    if not people:
        return {}
    with transaction.atomic(), server_cursor() as cursor:
        created = _create(cursor, tenant_id, people)
        cursor.execute(_LOCK, [tenant_id, list(people)])
        rows = [_Person(*row) for row in cursor.fetchall()]
        moved = _save_addresses(cursor, tenant_id, rows, people)
        changed = [
            row
            for row in rows
            if row.user_id not in created
            and (row.id in moved or _own(people[row.user_id]) != row[2:])
        ]
        _update(cursor, changed, people)
    saved = dict.fromkeys(people, Saved.UNCHANGED)
    saved |= {row.user_id: Saved.UPDATED for row in changed}
    return saved | dict.fromkeys(created, Saved.CREATED)


def _own(details: RecipientDetails) -> tuple[str, str, str]:
    return details.locale, details.time_zone, details.country


def _create(
    cursor: Cursor, tenant_id: int, people: Mapping[str, RecipientDetails]
) -> set[str]:
    columns = zip(*((name, *_own(one)) for name, one in people.items()), strict=True)
    cursor.execute(_CREATE, [tenant_id, *map(list, columns)])
    return {user_id for (user_id,) in cursor.fetchall()}


def _update(
    cursor: Cursor, changed: Sequence[_Person], people: Mapping[str, RecipientDetails]
) -> None:
    if changed:
        rows = ((row.id, *_own(people[row.user_id])) for row in changed)
        cursor.execute(_UPDATE, list(map(list, zip(*rows, strict=True))))


def _save_addresses(
    cursor: Cursor,
    tenant_id: int,
    rows: Sequence[_Person],
    people: Mapping[str, RecipientDetails],
) -> set[int]:
    """Make the addresses what they should be; return whose were changed."""
    stored = _stored(tenant_id, rows)
    wanted: dict[_Place, _AddressRow] = {}
    for row in rows:
        wanted |= _wanted(tenant_id, row.id, people[row.user_id], stored)
    gone = [each for place, each in stored.items() if place not in wanted]
    new = [each for place, each in wanted.items() if stored.get(place) != each]
    if gone:
        cursor.execute(_FORGET_ADDRESSES, [[each.id for each in gone]])
    if new:
        columns = zip(*(_sealed(tenant_id, each) for each in new), strict=True)
        cursor.execute(_SAVE_ADDRESSES, list(map(list, columns)))
    return {each.place[0] for each in (*gone, *new)}


def _stored(tenant_id: int, rows: Sequence[_Person]) -> dict[_Place, _AddressRow]:
    addresses = Address.objects.filter(recipient__in=[row.id for row in rows])
    stored = {}
    for known in addresses:
        place = (known.recipient_id, known.channel, bytes(known.key))
        try:
            typed, normalised = open_address(tenant_id, known)
        except SealBroken:
            typed = normalised = ""  # no address is: it is sealed anew, or forgotten
        stored[place] = _AddressRow(
            id=known.id,
            place=place,
            typed=typed,
            normalised=normalised,
            status=known.status,
            position=known.position,
        )
    return stored


def _wanted(
    tenant_id: int,
    recipient_id: int,
    details: RecipientDetails,
    stored: Mapping[_Place, _AddressRow],
) -> dict[_Place, _AddressRow]:
    wanted: dict[_Place, _AddressRow] = {}
    positions: dict[Channel, int] = defaultdict(int)
    for told in details.addresses:
        key = address_key(
            tenant_id=tenant_id, channel=told.channel, value=told.normalised
        )
        place = (recipient_id, told.channel.value, key)
        known = stored.get(place)
        wanted[place] = _AddressRow(
            id=known.id if known else new_id(),
            place=place,
            typed=told.typed,
            normalised=told.normalised,
            status=_status(told, known),
            position=positions[told.channel],
        )
        positions[told.channel] += 1
    return wanted


def _status(told: TypedAddress, known: _AddressRow | None) -> str:
    if told.is_verified is None:
        return known.status if known else Address.Status.UNVERIFIED.value
    status = Address.Status.VERIFIED if told.is_verified else Address.Status.UNVERIFIED
    return status.value


def _sealed(tenant_id: int, row: _AddressRow) -> tuple[object, ...]:
    typed, normalised = (
        seal(
            tenant_id=tenant_id,
            table=f"address.{column}",
            row=row.id,
            plaintext=text.encode(),
        )
        for column, text in (("typed", row.typed), ("normalised", row.normalised))
    )
    recipient_id, channel, key = row.place
    return (
        row.id,
        recipient_id,
        channel,
        typed,
        normalised,
        key,
        row.status,
        row.position,
    )
