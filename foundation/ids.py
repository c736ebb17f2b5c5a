"""Mint UUIDv7 ids and write them the way the public API shows them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import uuid_utils.compat as uuid_compat

# Crockford base 32: no I, L, O, U, so that an id can be read over the phone.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES = {letter: value for value, letter in enumerate(_ALPHABET)}
_ENCODED_LENGTH = 26
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_PAIRS_AT = range(120, -1, -10)


class MalformedId(ValueError):
    """This is not an id of the expected kind."""


def new_id() -> UUID:
    """Mint a UUIDv7; ids of one process sort by the moment they were made."""
    return uuid_compat.uuid7()


def sibling_id(origin: UUID) -> UUID:
    """Mint a UUIDv7 with the timestamp of another one.

    Partitions are ranges of the id: a delivery that carries its notification's
    timestamp falls within the same bounds, whenever it is written.
    """
    fresh = uuid_compat.uuid7().int
    timestamp_and_version = origin.int >> 76 << 76
    variant = 0b10 << 62
    rand_a = fresh >> 64 & 0xFFF
    rand_b = fresh & ((1 << 62) - 1)
    return UUID(int=timestamp_and_version | rand_a << 64 | variant | rand_b)


def floor_id(moment: datetime) -> UUID:
    """Return the smallest id that a UUIDv7 minted at this moment can have.

    Of a moment before 1970, of which there are no ids, the smallest of all.
    """
    return UUID(int=max(int(moment.timestamp() * 1000), 0) << 80)


def sibling_bounds(origin: UUID) -> tuple[UUID, UUID]:
    """Return the bounds [low, high) of all ids with the timestamp of this one.

    For reads of a notification's deliveries: one partition instead of all of them.
    """
    low = origin.int >> 80 << 80
    return UUID(int=low), UUID(int=low + (1 << 80))


def public_id(prefix: str, identifier: UUID) -> str:
    """Write an id as `ntf_01J…`: the kind, then 26 characters of base 32."""
    number = identifier.int
    return f"{prefix}_{''.join([_PAIRS[number >> at & 1023] for at in _PAIRS_AT])}"


def parse_public_id(prefix: str, text: str) -> UUID:
    """Read an id back; raise MalformedId for anything but its one canonical form."""
    kind, separator, encoded = text.partition("_")
    if kind != prefix or not separator or len(encoded) != _ENCODED_LENGTH:
        raise MalformedId(f"not a {prefix} id")
    number = 0
    for letter in encoded:
        value = _VALUES.get(letter)
        if value is None:
            raise MalformedId(f"not a {prefix} id")
        number = number << 5 | value
    if number >> 128:
        raise MalformedId(f"not a {prefix} id")
    return UUID(int=number)
