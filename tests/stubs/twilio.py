"""Twilio's Messages resource, as far as an adapter sees it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs
from uuid import uuid4

from tests.stubs.http import Answer, HttpCall, HttpStep, HttpStub

ACCOUNT_SID = "AC" + "0123456789abcdef" * 2
MESSAGING_SERVICE = "MG" + "0123456789abcdef" * 2


class TwilioStub(HttpStub):
    """Creates every message until told else, as HttpStub is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.decide = self._answer

    def _answer(self, call: HttpCall) -> HttpStep:
        return self._script.next("request") or created()


def created(**changes: object) -> Answer:
    """Return the answer to a message that was created, as Twilio writes it."""
    message = {
        "sid": f"SM{uuid4().hex}",
        "account_sid": ACCOUNT_SID,
        "api_version": "2010-04-01",
        "status": "queued",
        "error_code": None,
        "error_message": None,
    }
    return Answer(201, message | changes)


def refused(status: int, code: int, **headers: str) -> Answer:
    """Return an error as Twilio writes it: the number is in its text."""
    content = {
        "code": code,
        "message": "The number +84912345678 is not what it should be",
        "more_info": f"https://www.twilio.com/docs/errors/{code}",
        "status": status,
    }
    return Answer(status, content, headers)


def form_of(call: HttpCall) -> dict[str, str]:
    """Read a form in which every parameter comes once."""
    fields = parse_qs(call.body.decode(), keep_blank_values=True, strict_parsing=True)
    assert all(len(values) == 1 for values in fields.values())
    return {name: values[0] for name, values in fields.items()}
