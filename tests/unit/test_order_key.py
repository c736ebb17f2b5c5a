"""Who waits for whom: what makes two order keys one, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.order import order_key
from providers.channels import Channel
from tenants.categories import Category, Priority

KNOWN: dict[str, Any] = {
    "person": (1, "usr_an"),
    "channel": Channel.PUSH,
    "category": Category.TRANSACTIONAL,
    "priority": Priority.NORMAL,
    "is_test": False,
    "address_key": b"one device",
}


def test_one_address_has_one_key_that_a_bigint_holds():
    key = order_key(**KNOWN)

    assert key == order_key(**KNOWN)
    assert -(2**63) <= key < 2**63


@pytest.mark.parametrize(
    "other",
    [
        {"person": (2, "usr_an")},
        {"person": (1, "usr_binh")},
        {"channel": Channel.SMS},
        {"category": Category.MARKETING},
        {"priority": Priority.HIGH},
        {"is_test": True},
        {"address_key": b"another device"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_whatever_differs_makes_another_key(other):
    assert order_key(**{**KNOWN, **other}) != order_key(**KNOWN)
