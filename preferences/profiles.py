"""Load people as acceptance and the claim see them: one query, however many."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, time
from functools import cache, partial
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from foundation.quiet_hours import QuietHours, QuietWeek
from foundation.quiet_windows import Window, week_of, window_of
from foundation.statements import server_cursor
from preferences.held import Held, Reason
from preferences.profile import KnownAddress, Profile
from providers.channels import Channel
from tenants.data_keys import unseal
from tenants.limits import Limits, limits_of_many


def _load_statement(people: str) -> str:
    """Write the query for a source of (tenant_id, user_id).

    One row for each address of each person, in the order in which they are tried, and
    one for a person without any. Channel 3 is push: its addresses are the devices. A
    person is where their device was that was seen last, else in the zone of their
    profile; quiet hours are in the zone that they name, else there, else the tenant's.
    """
    return f"""
SELECT w.tenant_id, w.user_id, app_now(), r.locale, z.time_zone, p.version, p.opt_outs,
       p.category_choices, p.snoozed_until,
       (p.quiet_hours ->> 'start')::time, (p.quiet_hours ->> 'end')::time,
       p.quiet_hours -> 'windows',
       CASE WHEN p.quiet_hours IS NOT NULL THEN coalesce(
         p.quiet_hours ->> 'time_zone', z.time_zone,
         (SELECT t.time_zone FROM tenant t WHERE t.id = w.tenant_id)) END,
       c.id, c.channel, c.platform, c.sealed, c.key, c.held
  FROM {people} AS w (tenant_id, user_id)
  LEFT JOIN recipient r ON r.tenant_id = w.tenant_id AND r.user_id = w.user_id
  LEFT JOIN LATERAL (
    SELECT coalesce(
      (SELECT s.time_zone FROM device s
        WHERE s.recipient_id = r.id AND s.time_zone <> ''
        ORDER BY s.last_seen_at DESC LIMIT 1),
      nullif(r.time_zone, '')) AS time_zone
  ) z ON true
  LEFT JOIN notification_preferences p
         ON p.tenant_id = w.tenant_id AND p.user_id = w.user_id
  LEFT JOIN LATERAL (
    SELECT a.id, a.channel, '' AS platform, a.normalised AS sealed, a.key, a.position,
           (SELECT array_agg(s.reason || ' ' || s.category) FROM suppression s
             WHERE s.tenant_id = w.tenant_id AND s.channel = a.channel
               AND s.key = a.key AND s.lifted_at IS NULL) AS held
      FROM address a
     WHERE a.recipient_id = r.id AND a.channel = ANY (%(channels)s::smallint[])
     UNION ALL
    SELECT d.id, 3, d.platform, d.token, d.key, 0, NULL
      FROM device d
     WHERE d.recipient_id = r.id AND 3 = ANY (%(channels)s::smallint[])
  ) c ON true
 ORDER BY c.position, c.id
"""  # noqa: S608 - our own words


# Of an array PostgreSQL expects ten members and plans every execution anew, which takes
# three times as long as finding one person. Their plan is made once.
_LOAD_ONE = _load_statement("(SELECT %(tenant_id)s::bigint, %(user_id)s::text)")
_LOAD_MANY = _load_statement("unnest(%(tenant_ids)s::bigint[], %(user_ids)s::text[])")


class _Row(NamedTuple):
    tenant_id: int
    user_id: str
    read_at: datetime
    locale: str | None
    time_zone: str | None
    version: int | None
    opt_outs: list[str] | None
    category_choices: dict[str, dict[str, bool]] | None
    snoozed_until: datetime | None
    quiet_from: time | None
    quiet_until: time | None
    quiet_windows: list[Window] | None
    quiet_zone: str | None
    address_id: UUID | None
    channel: int
    platform: str
    sealed: bytes
    key: bytes
    held: list[str] | None


# By itself ZoneInfo remembers eight; to read another takes as long as the query.
_zone = cache(ZoneInfo)


def load_profiles(
    pairs: Collection[tuple[int, str]],
    *,
    channels: Collection[Channel] = tuple(Channel),
) -> dict[tuple[int, str], Profile]:
    """Return a profile for every (tenant id, user id), an empty one where none is.

    What tenants chose comes out of the process's memory, as of 5 s ago at most.
    Opening the addresses is most of the cost: name the channels that are needed.
    """
    wanted = list(dict.fromkeys(pairs))
    rows: dict[tuple[int, str], list[_Row]] = {pair: [] for pair in wanted}
    parameters: dict[str, object] = {"channels": [each.value for each in channels]}
    if len(wanted) == 1:
        statement = _LOAD_ONE
        parameters["tenant_id"], parameters["user_id"] = wanted[0]
    else:
        statement = _LOAD_MANY
        parameters["tenant_ids"] = [tenant_id for tenant_id, _ in wanted]
        parameters["user_ids"] = [user_id for _, user_id in wanted]
    with server_cursor() as cursor:
        cursor.execute(statement, parameters)
        for row in map(_Row._make, cursor.fetchall()):
            rows[row.tenant_id, row.user_id].append(row)
    limits = limits_of_many({tenant_id for tenant_id, _ in wanted})
    return {pair: _profile(found, limits.get(pair[0])) for pair, found in rows.items()}


def _profile(rows: list[_Row], limits: Limits | None) -> Profile:
    first = rows[0]
    zone = _zone(first.time_zone or (limits.time_zone if limits else "UTC"))
    lines = limits.quiet_hours if limits else ""
    addresses: dict[Channel, tuple[KnownAddress, ...]] = {}
    for row in rows:
        if row.address_id is not None:
            known = _known_address(row, row.address_id)
            addresses[known.channel] = (*addresses.get(known.channel, ()), known)
    return Profile(
        tenant_id=first.tenant_id,
        user_id=first.user_id,
        read_at=first.read_at,
        locale=first.locale or None,
        time_zone=first.time_zone or None,
        addresses=addresses,
        opt_outs=frozenset(first.opt_outs or ()),
        category_choices=first.category_choices or {},
        snoozed_until=first.snoozed_until,
        zone=zone,
        quiet_hours=_quiet_hours(first),
        tenant_quiet_hours=week_of(lines, zone) if lines else None,
        preference_version=first.version or 0,
    )


def _quiet_hours(row: _Row) -> QuietHours | QuietWeek | None:
    if row.quiet_zone is None:
        return None
    zone = _zone(row.quiet_zone)
    if row.quiet_windows is not None:
        windows = [window_of(each, zone=zone) for each in row.quiet_windows]
        return QuietWeek(windows=windows, zone=zone)
    if row.quiet_from is None or row.quiet_until is None:
        return None
    return QuietHours(start=row.quiet_from, end=row.quiet_until, zone=zone)


def _known_address(row: _Row, address_id: UUID) -> KnownAddress:
    return KnownAddress(
        id=address_id,
        channel=Channel(row.channel),
        reveal=partial(_open, row, address_id),
        key=row.key,
        platform=row.platform,
        held=tuple(map(_held, row.held or ())),
    )


def _held(entry: str) -> Held:
    reason, _, category = entry.partition(" ")
    return Held(reason=Reason(reason), category=category)


def _open(row: _Row, address_id: UUID) -> str:
    table = "device.token" if row.platform else "address.normalised"
    return unseal(
        tenant_id=row.tenant_id, table=table, row=address_id, sealed=row.sealed
    ).decode()
