"""How many messages a day may be accepted for a tenant on a channel.

The table `daily_usage` counts what processes take, and they take blocks: so many that
the row is no bottleneck, so few that it matters little when some are left. A block is
counted before anything of it is used, so that no quota is ever overrun; what a process
has left of its block when it ends stays counted.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import structlog

from foundation.database_clock import database_now
from foundation.statements import server_cursor
from tenants.limits import MILLIONTHS, SMS_SPEND, Limits, limits_of
from tenants.metrics import QUOTA_EXCEEDED, SPEND_CAP_EXCEEDED
from tenants.process_cache import ProcessCache

log = structlog.get_logger(__name__)

# Messages. Of money the part alone decides.
LARGEST_BLOCK = 100
# A block is this part of the quota at most.
SMALLEST_PART = 500
KEEP_FOR = timedelta(days=62)
# Of the money: staff are told when so much is spent.
WARN_AT = 0.8
# A refusal is remembered so long: callers who do not stop would lock the row each time.
_REFUSED_SECONDS = 1.0

# All that is needed, or nothing; beyond that as much of a block as the quota has left.
_TAKE = """
INSERT INTO daily_usage AS u (tenant_id, channel, day, taken)
SELECT %(tenant_id)s, %(channel)s, %(day)s, least(%(block)s::bigint, %(quota)s::bigint)
 WHERE %(needed)s::bigint <= %(quota)s::bigint
    ON CONFLICT (tenant_id, channel, day) DO UPDATE
   SET taken = least(u.taken + %(block)s::bigint, %(quota)s::bigint)
 WHERE u.taken + %(needed)s::bigint <= %(quota)s::bigint
RETURNING new.taken - coalesce(old.taken, 0), new.taken
"""

_TAKEN = """
SELECT channel, taken FROM daily_usage WHERE tenant_id = %(tenant_id)s AND day = %(day)s
"""

_FORGET = """
DELETE FROM daily_usage WHERE day < (app_now() - %(keep_for)s::interval)::date
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A calendar day at a place."""

    date: date
    ends_at: datetime


class DailyQuotaExceeded(Exception):
    """The tenant has used up what it may send on a channel today."""

    def __init__(self, *, channel: str, quota: int, day: Day, left: timedelta) -> None:
        super().__init__(
            f"Too little is left of the daily quota of {quota} on the channel"
            f" {channel}; a new day begins at {day.ends_at.isoformat()}."
        )
        self.channel = channel
        self.quota = quota
        self.resets_at = day.ends_at
        self.retry_after = max(math.ceil(left.total_seconds()), 1)


class SpendCapExceeded(DailyQuotaExceeded):
    """The tenant's text messages have cost what they may cost today."""

    def __init__(self, *, quota: int, day: Day, left: timedelta) -> None:
        super().__init__(channel="sms", quota=quota, day=day, left=left)
        self.cap = quota // MILLIONTHS
        self.args = (
            f"Too little is left of the {self.cap} that the tenant's text messages may"
            f" cost a day; a new day begins at {day.ends_at.isoformat()}.",
        )


def day_of(now: datetime, *, time_zone: str) -> Day:
    """Return the day that it is there, and when the next one begins."""
    zone = ZoneInfo(time_zone)
    today = now.astimezone(zone).date()
    midnight = datetime.combine(today + timedelta(days=1), datetime.min.time(), zone)
    return Day(date=today, ends_at=midnight.astimezone(now.tzinfo))


_LONG_AGO = Day(date=date.min, ends_at=datetime.min.replace(tzinfo=UTC))


@dataclass(slots=True)
class _Block:
    """What this process has left of a day, by its monotonic clock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    left: int = 0
    day: Day = _LONG_AGO
    day_ends: float = 0.0
    # So many could not be had, of such a quota.
    refused: tuple[int, int] | None = None
    refused_until: float = 0.0


class Share(NamedTuple):
    """Messages that were taken out of a block."""

    block: _Block
    number: int
    day: Day


class Blocks:
    """The blocks of one process; safe for its threads."""

    def __init__(self) -> None:
        self._known: ProcessCache[tuple[int, str], _Block] = ProcessCache(
            size=20_000, lifetime=timedelta(days=1)
        )

    def take(self, *, tenant_id: int, messages: Mapping[str, int]) -> list[Share]:
        """Take so many messages by channel: all, or raise DailyQuotaExceeded."""
        limits = limits_of(tenant_id=tenant_id)
        shares: list[Share] = []
        try:
            for channel in sorted(messages.keys() & limits.daily_quotas.keys()):
                block = self._block(tenant_id, channel)
                with block.lock:
                    _take(block, _Wanted(tenant_id, channel, messages[channel]), limits)
                    shares.append(Share(block, messages[channel], block.day))
        except DailyQuotaExceeded:
            give_back(shares)
            raise
        return shares

    def _block(self, tenant_id: int, channel: str) -> _Block:
        block = self._known.get((tenant_id, channel))
        if block is None:
            block = _Block()
            self._known.put((tenant_id, channel), block)
        return block


_blocks = Blocks()


def take_messages(*, tenant_id: int, messages: Mapping[str, int]) -> Sequence[Share]:
    """Count messages, by channel, against their tenant's day.

    All of them or none: raises DailyQuotaExceeded. Give back what was not accepted.
    """
    return _blocks.take(tenant_id=tenant_id, messages=messages)


def give_back(shares: Sequence[Share]) -> None:
    """Return what has not been used after all, unless its day is over."""
    for share in shares:
        with share.block.lock:
            if share.block.day == share.day:
                share.block.left += share.number


class _Wanted(NamedTuple):
    tenant_id: int
    channel: str
    number: int


def _take(block: _Block, wanted: _Wanted, limits: Limits) -> None:
    now = time.monotonic()
    if now >= block.day_ends:
        block.left, block.refused = 0, None
    if block.left < wanted.number:
        quota = limits.daily_quotas[wanted.channel]
        if not _is_refused(block, wanted, quota, now=now):
            _enlarge(block, wanted, quota, time_zone=limits.time_zone)
        if block.left < wanted.number:
            left = timedelta(seconds=block.day_ends - now)
            if wanted.channel == SMS_SPEND:
                SPEND_CAP_EXCEEDED.inc()
                raise SpendCapExceeded(quota=quota, day=block.day, left=left)
            QUOTA_EXCEEDED.labels(wanted.channel).inc()
            raise DailyQuotaExceeded(
                channel=wanted.channel, quota=quota, day=block.day, left=left
            )
    block.left -= wanted.number


def _is_refused(block: _Block, wanted: _Wanted, quota: int, *, now: float) -> bool:
    """Tell whether the answer is known."""
    if block.refused is None or now >= block.refused_until:
        return False
    number, of_quota = block.refused
    return wanted.number >= number and quota == of_quota


def _enlarge(block: _Block, wanted: _Wanted, quota: int, *, time_zone: str) -> None:
    """Take what is needed, and a block, out of the day; or remember that it is not
    there."""
    asked_at = time.monotonic()
    now = database_now()
    day = day_of(now, time_zone=time_zone)
    if day != block.day:
        block.left, block.day = 0, day
    block.day_ends = asked_at + (day.ends_at - now).total_seconds()
    needed = wanted.number - block.left
    size = max(quota // SMALLEST_PART, 1)
    if wanted.channel != SMS_SPEND:
        size = min(size, LARGEST_BLOCK)
    with server_cursor() as cursor:
        cursor.execute(
            _TAKE,
            {
                "tenant_id": wanted.tenant_id,
                "channel": wanted.channel,
                "day": day.date,
                "needed": needed,
                "block": max(needed, size),
                "quota": quota,
            },
        )
        taken = cursor.fetchone()
    if taken is None:
        block.refused = (wanted.number, quota)
        block.refused_until = asked_at + _REFUSED_SECONDS
        return
    block.left += taken[0]
    if wanted.channel == SMS_SPEND:
        _warn_of_spend(wanted.tenant_id, taken=taken[0], spent=taken[1], cap=quota)


def _warn_of_spend(tenant_id: int, *, taken: int, spent: int, cap: int) -> None:
    """Tell once a day, whichever process took the block that made it so much."""
    if spent - taken < cap * WARN_AT <= spent:
        log.warning(
            "sms_spend_nearly_used_up",
            tenant_id=tenant_id,
            spent=spent / MILLIONTHS,
            cap=cap // MILLIONTHS,
        )


def taken_today(*, tenant_id: int, time_zone: str) -> tuple[Day, Mapping[str, int]]:
    """Return the tenant's day, and what of it is taken on each channel."""
    day = day_of(database_now(), time_zone=time_zone)
    with server_cursor() as cursor:
        cursor.execute(_TAKEN, {"tenant_id": tenant_id, "day": day.date})
        return day, dict(cursor.fetchall())


def forget_old_days() -> None:
    """Delete what nobody asks for any more."""
    with server_cursor() as cursor:
        cursor.execute(_FORGET, {"keep_for": KEEP_FOR})
