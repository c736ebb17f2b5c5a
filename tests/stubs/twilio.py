"""Twilio's Messages resource, as far as an adapter sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from email.utils import format_datetime, parsedate_to_datetime
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl
from uuid import uuid4

from tests.stubs.http import Answer, HttpCall, HttpStep, HttpStub
from tests.stubs.twilio_document import judge_created, judge_page, judge_request

ACCOUNT_SID = "AC" + "0123456789abcdef" * 2
MESSAGING_SERVICE = "MG" + "0123456789abcdef" * 2
_JSON = {"Content-Type": "application/json"}


class TwilioStub(HttpStub):
    """Creates every message until told else, and lists what it has created; Twilio's
    own document is the judge."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.created: list[dict[str, Any]] = []

    @property
    def sent(self) -> list[HttpCall]:
        return [call for call in self.calls if call.method == "POST"]

    @property
    def look_ups(self) -> list[HttpCall]:
        return [call for call in self.calls if call.method == "GET"]

    def judge(self, call: HttpCall) -> None:
        judge_request(call)

    def stage(self, call: HttpCall) -> str:
        return "list" if call.method == "GET" else "request"

    def usual(self, call: HttpCall) -> Answer:
        if call.method == "GET":
            return self._listed(dict(parse_qsl(call.path.partition("?")[2])))
        answer = created(call.form)
        assert isinstance(answer.content, dict)
        self.created.insert(0, answer.content)
        return answer

    def create_and(self, step: HttpStep) -> Callable[[HttpCall], HttpStep | None]:
        """Return a `decide` that creates messages and tells nobody."""

        def decide(call: HttpCall) -> HttpStep | None:
            if call.method == "GET":
                return None
            self.usual(call)
            return step

        return decide

    def _listed(self, query: Mapping[str, str]) -> Answer:
        first_day = date.fromisoformat(query.get("DateSent>", "0001-01-01"))
        found = [
            {**each, "status": "sent", "date_sent": each["date_created"]}
            for each in self.created
            if each["to"] == query.get("To", each["to"])
            and parsedate_to_datetime(each["date_created"]).date() >= first_day
        ]
        return page(found, size=int(query.get("PageSize", 50)))


def page(messages: Sequence[Mapping[str, Any]], *, size: int = 50) -> Answer:
    """Return the first page of a list, as Twilio writes it."""
    uri = f"/2010-04-01/Accounts/{ACCOUNT_SID}/Messages.json?PageSize={size}"
    content = {
        "end": min(len(messages), size),
        "first_page_uri": f"{uri}&Page=0",
        "next_page_uri": f"{uri}&Page=1" if len(messages) > size else None,
        "page": 0,
        "page_size": size,
        "previous_page_uri": None,
        "messages": list(messages[:size]),
        "start": 0,
        "uri": f"{uri}&Page=0",
    }
    judge_page(content)
    return Answer(200, content, _JSON)


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
