"""What travels through the broker: which delivery, under which fence; no more.

Ids only: a topic may be read by others, kept for days and lost, and none of that may
tell anything about a person or lose a message.
"""

from __future__ import annotations

import struct
from typing import NamedTuple
from uuid import UUID

from notifications.transitions import Fence

VERSION = 1
# Big-endian: version, delivery id, claim_count, tenant id.
_LAYOUT = struct.Struct(">B16sIQ")


class Record(NamedTuple):
    """One published delivery; the fence is that of its outbox row when it was taken."""

    fence: Fence
    tenant_id: int


class Undecodable(ValueError):
    """These octets are no record of ours; the message is the reason."""


def encode(record: Record) -> bytes:
    """Write a record."""
    delivery_id, claim_count = record.fence
    return _LAYOUT.pack(VERSION, delivery_id.bytes, claim_count, record.tenant_id)


def decode(octets: bytes | None) -> Record:
    """Read a record; raise Undecodable."""
    if not octets:
        raise Undecodable("no_value")
    if octets[0] != VERSION:
        raise Undecodable("unknown_version")
    if len(octets) != _LAYOUT.size:
        raise Undecodable("wrong_length")
    _, delivery_id, claim_count, tenant_id = _LAYOUT.unpack(octets)
    if claim_count >= 2**31:
        raise Undecodable("wrong_claim_count")
    return Record(Fence(UUID(bytes=delivery_id), claim_count), tenant_id)
