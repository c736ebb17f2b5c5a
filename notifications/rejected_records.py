"""Records of the broker that name no delivery: kept for an operator to look at.

One that was retried for ever would stop everything behind it on its partition.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import structlog

from foundation.ids import new_id
from foundation.statements import Cursor
from notifications.metrics import observe_rejected_record
from notifications.transitions import Fence

log = structlog.get_logger(__name__)

# Ours have 29 octets; of a megabyte the beginning tells enough.
KEPT_OCTETS = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A record that can never be claimed, where it lies, and why it cannot."""

    topic: str
    partition: int
    offset: int
    reason: str
    octets: bytes | None


_KEEP = """
INSERT INTO rejected_record (id, topic, partition, record_offset, reason, octets, size)
SELECT * FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::bigint[], %s::text[],
                     %s::bytea[], %s::int[])
"""


def keep_rejected(cursor: Cursor, rejections: Sequence[Rejection]) -> None:
    """Keep them within the caller's transaction, each with a line in the log."""
    if not rejections:
        return
    for each in rejections:
        observe_rejected_record(reason=each.reason)
        log.warning(
            "record_rejected",
            topic=each.topic,
            partition=each.partition,
            offset=each.offset,
            reason=each.reason,
        )
    cursor.execute(
        _KEEP,
        [
            [new_id() for _ in rejections],
            [each.topic for each in rejections],
            [each.partition for each in rejections],
            [each.offset for each in rejections],
            [each.reason for each in rejections],
            [(each.octets or b"")[:KEPT_OCTETS] for each in rejections],
            [len(each.octets or b"") for each in rejections],
        ],
    )


# OFFSET 0 keeps it one index look-up for each id.
_UNKNOWN = """
SELECT r.id, r.n FROM unnest(%s::uuid[], %s::int[]) r(id, n)
 WHERE NOT EXISTS (SELECT FROM delivery d WHERE d.id = r.id OFFSET 0)
"""


def unknown_among(cursor: Cursor, fences: Collection[Fence]) -> list[Fence]:
    """Return those that name no delivery at all, or one that retention has dropped."""
    if not fences:
        return []
    known = list(fences)
    cursor.execute(
        _UNKNOWN,
        [
            [fence.delivery_id for fence in known],
            [fence.claim_count for fence in known],
        ],
    )
    return [Fence._make(row) for row in cursor.fetchall()]
