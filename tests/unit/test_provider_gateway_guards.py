"""What the gateway does around an adapter's call."""

from __future__ import annotations

import asyncio

import pytest

from providers.base import Adapter, SendResult, Verdict
from providers.channels import Channel
from providers.gateway import LONGEST_WORD, Gateway
from tests.factories.providers import OutboundMessageFactory


class Rude(Adapter):
    """Answers with words that no table takes."""

    channels = frozenset(Channel)

    async def send(self, message) -> SendResult:
        return Verdict.ACCEPTED.result(
            code="a\x00b\ud800c\r\n", provider_message_id="x" * 5000
        )


class TooLateError(Exception):
    """The caller changed its mind."""


@pytest.fixture(autouse=True)
def rude(settings):
    settings.PROVIDERS = {
        "rude": {"BACKEND": f"{__name__}.Rude", "RATE": None, "BREAKER": None}
    }


def test_a_providers_words_are_cut_to_what_a_column_takes():
    result = asyncio.run(Gateway().send(OutboundMessageFactory.build(), alias="rude"))

    assert result.code == "abc"
    assert result.provider_message_id == "x" * LONGEST_WORD


def test_a_guard_that_objects_stops_the_call_and_gives_the_slot_back():
    def object_to_it() -> None:
        raise TooLateError

    async def scenario() -> SendResult:
        gateway = Gateway()
        message = OutboundMessageFactory.build()
        for _ in range(60):
            with pytest.raises(TooLateError):
                await gateway.send(message, alias="rude", just_before=object_to_it)
        return await gateway.send(message, alias="rude")

    assert asyncio.run(scenario()).outcome == "accepted"
