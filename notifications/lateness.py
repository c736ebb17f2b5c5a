"""How late classes are that get through at all, as the processes that accept know it.

An outage is no overload: what stands still behind an open breaker, an unreachable
broker or consumers that are gone waits safely, and refusing more of it helps nobody.
So consumers note which classes get through, and only of those the age of the oldest due
row counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta

import structlog

from foundation.statements import AWAY, Cursor, server_cursor
from notifications.outbox import LANES, Lane
from providers.channels import Channel
from tenants.categories import Priority
from tenants.process_cache import Sample

log = structlog.get_logger(__name__)

# How long what was noted counts; consumers note it every second.
FLOWS_FOR = timedelta(seconds=15)
_NONE: Mapping[Lane, float] = {}

# In order, and not what another consumer has noted this second: nobody waits for long.
_NOTE = """
INSERT INTO lane_flow (lane, flowed_at)
SELECT lane, app_now() FROM unnest(%s::text[]) lane ORDER BY lane
    ON CONFLICT (lane) DO UPDATE SET flowed_at = excluded.flowed_at
 WHERE lane_flow.flowed_at < excluded.flowed_at - interval '1 second'
"""


def _name(lane: Lane) -> str:
    return f"{lane.channel.key}.{lane.priority.key}"


def note_flow(cursor: Cursor, lanes: Collection[Lane]) -> None:
    """Note that deliveries of these classes get through to their providers."""
    cursor.execute(_NOTE, [[_name(lane) for lane in lanes]])


# min() of each class is one step into outbox_due.
_LATENESS = """
SELECT class.priority, class.channel,
       extract(epoch FROM app_now() - (
         SELECT min(o.due_at) FROM outbox o
          WHERE o.priority = class.priority AND o.priority >= 0
            AND o.channel = class.channel))::float8
  FROM lane_flow f
  JOIN unnest(%s::text[], %s::smallint[], %s::smallint[])
       class(lane, priority, channel) USING (lane)
 WHERE f.flowed_at > app_now() - %s::interval
"""


def read_lateness(cursor: Cursor) -> dict[Lane, float]:
    """Read for how many seconds the oldest due row waits of classes that flow."""
    cursor.execute(
        _LATENESS,
        [
            [_name(lane) for lane in LANES],
            [lane.priority.value for lane in LANES],
            [lane.channel.value for lane in LANES],
            FLOWS_FOR,
        ],
    )
    return {
        Lane(Priority(priority), Channel(channel)): seconds
        for priority, channel, seconds in cursor.fetchall()
        if seconds is not None
    }


def latenesses() -> Mapping[Lane, float]:
    """Return what this process read within the last second.

    While one thread reads it again, or if that fails, nothing counts as late.
    """
    return _sample.current()


def _read() -> Mapping[Lane, float]:
    try:
        with server_cursor() as cursor:
            return read_lateness(cursor)
    except AWAY as away:
        log.warning("lateness_not_read", error=type(away).__name__)
        return _NONE


_sample = Sample(_read, lifetime=timedelta(seconds=1), meanwhile=_NONE)
