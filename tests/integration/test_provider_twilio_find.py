"""What Twilio says of a message whose sending had no answer."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from providers.base import Finding, Outcome
from providers.channels import Channel
from providers.sms.twilio import TwilioAdapter
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.http import Answer, CloseHalfway
from tests.stubs.server import Close
from tests.stubs.twilio import ACCOUNT_SID, TwilioStub, created, page, refused

NOW = datetime.now(tz=UTC)
TEXT = "Xin chào & 100 % = 👍 +1"
MESSAGE = OutboundMessageFactory.build(channel=Channel.SMS, parts={"text": TEXT})


@pytest.fixture
def stub():
    with TwilioStub() as started:
        yield started


def find(stub, *, since=NOW - timedelta(minutes=1)):
    async def once():
        adapter = TwilioAdapter(
            account_sid=ACCOUNT_SID,
            auth_token="secret",
            sender="+15005550006",
            url=stub.origin,
        )
        try:
            return await adapter.find(MESSAGE, since=since)
        finally:
            await adapter.aclose()

    return asyncio.run(once())


def listed(**changes):
    form = {"To": MESSAGE.address, "Body": TEXT, "From": "+15005550006"}
    return created(form, **changes).content


def test_message_is_found_by_its_number_date_and_text(stub):
    ours = listed()
    stub.created += [listed(body="Another text."), ours]

    found = find(stub)

    assert found.finding is Finding.FOUND
    assert found.provider_message_id == ours["sid"]
    (call,) = stub.calls
    query = parse_qs(urlsplit(call.path).query)
    yesterday = (NOW - timedelta(days=1, minutes=1)).date().isoformat()
    assert query == {
        "To": [MESSAGE.address],
        "DateSent>": [yesterday],
        "PageSize": ["20"],
    }
    assert (call.method, call.body) == ("GET", b"")


@pytest.mark.parametrize(
    "changes",
    [
        {"body": "Another text."},
        {"direction": "inbound"},
        {"date_created": format_datetime(NOW - timedelta(minutes=2))},
    ],
)
def test_what_is_not_ours_is_conclusively_not_found(stub, changes):
    stub.always(page([listed(**changes)]), stage="list")

    assert find(stub).finding is Finding.NOT_FOUND


@pytest.mark.parametrize(
    "messages",
    [
        # A text that was redacted, and a list that goes on.
        [listed(body="")],
        [listed(body="Another text.") for _ in range(51)],
    ],
)
def test_a_list_that_may_hide_it_cannot_tell(stub, messages):
    stub.always(page(messages), stage="list")

    found = find(stub)

    assert (found.finding, found.trouble) == (Finding.CANNOT_TELL, None)


@pytest.mark.parametrize(
    ("step", "outcome"),
    [
        (refused(503, 20503), Outcome.UNKNOWN),
        (refused(429, 20429), Outcome.RATE_LIMITED),
        (refused(401, 20003), Outcome.PERMANENT_ERROR),
        (Answer(200, b"<html>"), Outcome.UNKNOWN),
        (CloseHalfway(200), Outcome.UNKNOWN),
    ],
)
def test_trouble_cannot_tell_and_says_why(stub, step, outcome):
    stub.always(step, stage="list")

    found = find(stub)

    assert found.finding is Finding.CANNOT_TELL
    assert found.trouble.outcome is outcome


def test_broken_connection_cannot_tell(stub):
    stub.always(Close(), stage="list")

    assert find(stub).finding is Finding.CANNOT_TELL
