"""Twilio's Messages resource, as far as an adapter sees it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from types import MappingProxyType
from uuid import uuid4

from tests.stubs.http import Answer, HttpCall, HttpStub
from tests.stubs.twilio_document import judge_created, judge_request

ACCOUNT_SID = "AC" + "0123456789abcdef" * 2
MESSAGING_SERVICE = "MG" + "0123456789abcdef" * 2
_JSON = {"Content-Type": "application/json"}


class TwilioStub(HttpStub):
    """Creates every message until told else; Twilio's own document is the judge."""

    def judge(self, call: HttpCall) -> None:
        judge_request(call)

    def usual(self, call: HttpCall) -> Answer:
        return created(call.form)


def created(
    form: Mapping[str, str] = MappingProxyType({}), **changes: object
) -> Answer:
    """Return the answer to a message that was created, as Twilio writes it."""
    sid, now = f"SM{uuid4().hex}", format_datetime(datetime.now(tz=UTC))
    resource = f"/2010-04-01/Accounts/{ACCOUNT_SID}/Messages/{sid}"
    service = form.get("MessagingServiceSid")
    message = {
        "account_sid": ACCOUNT_SID,
        "api_version": "2010-04-01",
        "body": form.get("Body"),
        "date_created": now,
        "date_sent": None,
        "date_updated": now,
        "direction": "outbound-api",
        "error_code": None,
        "error_message": None,
        "from": form.get("From"),
        "messaging_service_sid": service,
        "num_media": "0",
        "num_segments": "0" if service else "1",
        "price": None,
        "price_unit": None,
        "sid": sid,
        "status": "accepted" if service else "queued",
        "subresource_uris": {"media": f"{resource}/Media.json"},
        "to": form.get("To"),
        "uri": f"{resource}.json",
    } | changes
    judge_created(message)
    return Answer(201, message, _JSON)


def refused(status: int, code: int, **headers: str) -> Answer:
    """Return an error as Twilio writes it: the number is in its text."""
    content = {
        "code": code,
        "message": "The number +84912345678 is not what it should be",
        "more_info": f"https://www.twilio.com/docs/errors/{code}",
        "status": status,
    }
    return Answer(status, content, _JSON | headers)
