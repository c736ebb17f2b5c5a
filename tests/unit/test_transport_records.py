"""Records: what goes to the broker and comes back."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.transitions import Fence
from notifications.transport.records import Record, Undecodable, decode, encode


@given(st.uuids(), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))
def test_a_record_comes_back_as_it_was(
    delivery_id: UUID, claim_count: int, tenant_id: int
) -> None:
    record = Record(Fence(delivery_id, claim_count), tenant_id)

    assert decode(encode(record)) == record


def test_a_record_is_small_and_says_its_version_first() -> None:
    octets = encode(Record(Fence(uuid4(), 1), 1))

    assert octets[0] == 1
    assert len(octets) == 29


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (None, "no_value"),
        (b"", "no_value"),
        (b"\xff\xfe\x00", "unknown_version"),
        (b"\x02" + bytes(28), "unknown_version"),
        (b"\x01", "wrong_length"),
        (b"\x01" + bytes(27), "wrong_length"),
        (b"\x01" + bytes(1_000_000), "wrong_length"),
        (b"\x01" + bytes(16) + b"\xff" * 4 + bytes(8), "wrong_claim_count"),
    ],
)
def test_what_is_no_record_is_refused_with_a_reason(
    octets: bytes | None, reason: str
) -> None:
    """F23; O-REL-4."""
    with pytest.raises(Undecodable, match=reason):
        decode(octets)


@given(st.binary(max_size=64))
def test_no_octets_make_it_fall_over(octets: bytes) -> None:
    with suppress(Undecodable):
        assert encode(decode(octets)) == octets
