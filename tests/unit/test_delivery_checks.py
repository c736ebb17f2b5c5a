"""System checks of the delivery settings."""

from __future__ import annotations

import pytest
from django.core.checks import CheckMessage
from pytest_django.fixtures import Settings

from notifications.checks import (
    check_claims_outlast_calls,
    check_ordered_categories,
    check_transport,
)


def ids(found: list[CheckMessage]) -> list[str | None]:
    return [each.id for each in found]


@pytest.mark.parametrize(
    ("transport", "servers", "found"),
    [
        ("postgres", "", []),
        ("kafka", "broker:9092", []),
        ("kafka", "", ["notifications.E005"]),
        ("kafak", "broker:9092", ["notifications.E004"]),
    ],
)
def test_a_transport_that_moves_nothing_is_an_error(
    settings: Settings, transport: str, servers: str, found: list[str]
) -> None:
    settings.DELIVERY_TRANSPORT = transport
    settings.KAFKA_BOOTSTRAP_SERVERS = servers

    assert ids(check_transport(None)) == found


def test_an_order_that_nobody_would_keep_is_an_error(settings: Settings) -> None:
    settings.ORDERED_CATEGORIES = ["otp", "transactionals"]

    assert ids(check_ordered_categories(None)) == ["notifications.E006"]


def test_a_claim_shorter_than_a_call_is_an_error(settings: Settings) -> None:
    settings.PROVIDERS = {"slow": {"TIMEOUT": 30}, "quick": {"TIMEOUT": 5}}

    assert ids(check_claims_outlast_calls(None)) == ["notifications.E001"]
