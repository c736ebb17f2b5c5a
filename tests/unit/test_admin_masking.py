"""What the console shows of an address, and of the details of an event."""

from __future__ import annotations

import pytest

from tenants.admin.masking import mask_address
from tenants.admin.presenting import in_reading_order, on_one_line


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("an.nguyen@example.org", "a•••@example.org"),
        ("a@example.org", "a•••@example.org"),
        ('"a@b"@example.org', '"•••@example.org'),
        ("+84912345678", "+84•••678"),
        ("f3kD8-push-token-of-a-device", "•••vice"),
        ("short", "•••"),
        ("", "•••"),
    ],
)
def test_address_can_be_recognised_and_not_written_to(address, shown):
    assert mask_address(address) == shown


def test_details_are_one_line_and_long_values_are_cut():
    detail = {"retry_in_seconds": 2, "channels": ["email", "sms"], "hash": "f" * 64}

    assert on_one_line(detail) == (
        f"retry in seconds 2, channels email sms, hash {'f' * 40}…"
    )


def test_parts_come_in_the_order_in_which_people_read_them():
    parts = {"html": "c", "zzz": "d", "text": "b", "subject": "a"}

    assert list(in_reading_order(parts)) == ["subject", "text", "html", "zzz"]
