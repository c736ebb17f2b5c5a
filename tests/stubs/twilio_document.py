"""What Twilio's own document says of the request for a message and of its answer."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from datetime import date
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jsonschema import FormatChecker
from openapi_schema_validator import OAS30Validator

from tests.data.extract import read_extract
from tests.stubs.http import HttpCall

DOCUMENT = read_extract("twilio_messages")
((PATH, _ITEM),) = DOCUMENT["paths"].items()
SERVER: str = _ITEM["servers"][0]["url"]
OPERATION: dict[str, Any] = _ITEM["post"]
LIST: dict[str, Any] = _ITEM["get"]
_ANSWER = LIST["responses"]["200"]["content"]["application/json"]
PAGE: dict[str, Any] = _ANSWER["schema"]
PAGE_EXAMPLES = [each["value"] for each in _ANSWER["examples"].values()]
# Its own examples have paths where it says URI.
_PATHS: dict[str, Any] = {
    name: {**schema, "format": "path"}
    for name, schema in PAGE["properties"].items()
    if schema.get("format") == "uri"
}
_QUERY = {each["name"]: each["schema"] for each in LIST["parameters"][1:]}
((CONTENT_TYPE, _CONTENT),) = OPERATION["requestBody"]["content"].items()
FORM: dict[str, Any] = _CONTENT["schema"]
MESSAGE: dict[str, Any] = DOCUMENT["components"]["schemas"]["api.v2010.account.message"]


def judge_request(call: HttpCall) -> None:
    """Raise AssertionError unless this is the documented way to create a message, or
    to list messages."""
    before, after = PATH.split("{AccountSid}")
    path, _, query = call.path.partition("?")
    assert call.method in {"POST", "GET"}, call
    assert path.startswith(before), path
    assert path.endswith(after), path
    _judge(path[len(before) : -len(after)], OPERATION["parameters"][0]["schema"])
    _judge_credentials(call)
    if call.method == "GET":
        judge_query(dict(parse_qsl(query, strict_parsing=True)))
        return
    assert not query, query
    assert call.headers.get("content-type") == CONTENT_TYPE, call.headers
    judge_form(call.form)


def _judge_credentials(call: HttpCall) -> None:
    scheme, _, credentials = call.headers.get("authorization", "").partition(" ")
    (security,) = OPERATION["security"][0]
    wanted = DOCUMENT["components"]["securitySchemes"][security]["scheme"]
    assert scheme.lower() == wanted, scheme
    user, _, password = b64decode(credentials, validate=True).decode().partition(":")
    assert user, "no user"
    assert password, "no password"


def judge_query(query: dict[str, str]) -> None:
    """Raise AssertionError unless all parameters of a list are documented so."""
    assert query.keys() <= _QUERY.keys(), f"unknown: {query.keys() - _QUERY.keys()}"
    for name, text in query.items():
        _judge(_typed(text, _QUERY[name]), _QUERY[name])
        # What the document says in words: dates, in GMT.
        if name.startswith("DateSent"):
            date.fromisoformat(text)


def judge_page(page: dict[str, Any]) -> None:
    """Raise AssertionError unless this is a whole page as it is documented."""
    documented = PAGE["properties"].keys()
    assert page.keys() == documented, f"{page.keys() ^ documented}"
    _judge(page, {**PAGE, "properties": {**PAGE["properties"], **_PATHS}})
    for message in page["messages"]:
        judge_created(message)


def judge_form(form: dict[str, str]) -> None:
    """Raise AssertionError unless all parameters are documented and as documented."""
    parameters = FORM["properties"]
    assert form.keys() <= parameters.keys(), f"unknown: {form.keys() - parameters}"
    _judge({name: _typed(text, parameters[name]) for name, text in form.items()}, FORM)
    # What the document says in words.
    assert {"From", "MessagingServiceSid"} & form.keys(), "no sender"
    assert {"Body", "MediaUrl", "ContentSid"} & form.keys(), "nothing to say"
    assert 1 <= int(form.get("ValidityPeriod", 1)) <= 36_000, form


def judge_created(message: dict[str, Any]) -> None:
    """Raise AssertionError unless this is a whole message as it is documented."""
    documented = MESSAGE["properties"].keys()
    assert message.keys() == documented, f"{message.keys() ^ documented}"
    _judge(message, MESSAGE)


def _judge(value: object, schema: dict[str, Any]) -> None:
    whole = {"components": DOCUMENT["components"], "allOf": [schema]}
    validator = OAS30Validator(whole, format_checker=_FORMATS)
    faults = [error.message for error in validator.iter_errors(value)]
    assert faults == [], faults


def _typed(text: str, schema: dict[str, Any]) -> object:
    """Read what a form can only write as text; left alone, it is not of the type."""
    if schema.get("type") in {"integer", "number", "boolean"}:
        try:
            return json.loads(text)
        except ValueError:
            return text
    return [text] if schema.get("type") == "array" else text


def _is_uri(value: object) -> bool:
    parts = urlsplit(str(value))
    return value is None or bool(parts.scheme and parts.netloc and str(value).isascii())


def _is_phone_number(value: object) -> bool:
    """Take what the document calls so: also channel addresses, short codes, names."""
    sender = r"([a-z]+:)?\+[1-9]\d{1,14}|\d{3,8}|[A-Za-z0-9 &+_-]{1,11}"
    return value is None or bool(re.fullmatch(sender, str(value)))


def _is_moment(value: object) -> bool:
    return value is None or bool(parsedate_to_datetime(str(value)).tzinfo)


def _is_currency(value: object) -> bool:
    return value is None or bool(re.fullmatch("[A-Z]{3}", str(value)))


_FORMATS = FormatChecker(formats=())
_FORMATS.checks("uri")(_is_uri)
_FORMATS.checks("phone-number")(_is_phone_number)
_FORMATS.checks("date-time-rfc-2822", raises=ValueError)(_is_moment)
_FORMATS.checks("currency")(_is_currency)
