"""Which kind of consumer group suits a broker."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from notifications.transport.kafka.topics import choose_protocol

PROTOCOLS = "group.coordinator.rebalance.protocols"
SESSION = "group.consumer.session.timeout.ms"


@pytest.mark.parametrize(
    ("broker", "chosen"),
    [
        ({}, "classic"),
        ({PROTOCOLS: "classic"}, "classic"),
        ({PROTOCOLS: "classic,consumer", SESSION: "3000"}, "consumer"),
        ({PROTOCOLS: "classic,consumer", SESSION: "6000"}, "consumer"),
        ({PROTOCOLS: "classic,consumer", SESSION: "45000"}, "classic"),
        ({PROTOCOLS: None}, "classic"),
    ],
)
def test_new_groups_only_where_a_killed_member_is_soon_given_up(
    broker: Mapping[str, str | None], chosen: str
) -> None:
    """With the broker's default an OTP would lie on its partition for 45 seconds."""
    assert choose_protocol(broker) == chosen
