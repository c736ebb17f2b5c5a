"""What Google's discovery document says of sending a message and of the answer."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema_rs

from tests.data.extract import FOLDER, read_extract
from tests.stubs.http import HttpCall

DOCUMENT = read_extract("fcm_send")
METHOD: dict[str, Any] = DOCUMENT["resources"]["projects"]["resources"]["messages"][
    "methods"
]["send"]
SERVER: str = DOCUMENT["baseUrl"]
ERROR: dict[str, Any] = json.loads((FOLDER / "google_error.json").read_text())
# The document marks them in words only.
_TARGETS = {"token", "fid", "topic", "condition"}
_WHOLE_NUMBER = {"int32": 2**31, "int64": 2**63}


def judge_request(call: HttpCall) -> None:
    """Raise AssertionError unless this is the documented way to send a message."""
    before, after = ("/" + METHOD["path"]).split("{+parent}")
    assert (call.method, call.path[: len(before)]) == (METHOD["httpMethod"], before)
    assert call.path.endswith(after), call.path
    parent = call.path[len(before) : -len(after)]
    assert re.search(METHOD["parameters"]["parent"]["pattern"], parent), parent
    assert call.headers.get("content-type") == "application/json", call.headers
    assert call.headers.get("authorization", "").startswith("Bearer "), call.headers
    judge_content(call.json)


def judge_content(content: Any) -> None:
    """Raise AssertionError unless it is the documented body of a request."""
    _judge(content, _schema_of(METHOD["request"]))
    message = content.get("message", {})
    assert len(_TARGETS & message.keys()) == 1, "to one, and to somebody"
    assert "name" not in message, "output only"


def judge_accepted(content: Any) -> None:
    """Raise AssertionError unless it is the documented answer, which has a name."""
    _judge(content, _schema_of(METHOD["response"]))
    assert re.fullmatch("projects/[^/]+/messages/[^/]+", content.get("name", ""))


def judge_error(status: int, content: Any) -> None:
    """Raise AssertionError unless Google would write an error like this."""
    _judge(content, ERROR)
    assert content["error"]["code"] == status, f"{status} is not what it says"


def _judge(value: object, schema: dict[str, Any]) -> None:
    validator = jsonschema_rs.Draft202012Validator(
        schema, validate_formats=True, formats=_FORMATS
    )
    faults = [error.message for error in validator.iter_errors(value)]
    assert faults == [], faults


def _schema_of(node: dict[str, Any]) -> dict[str, Any]:
    schemas = DOCUMENT["schemas"].items()
    return {**_schema(node), "$defs": {name: _schema(each) for name, each in schemas}}


def _schema(node: dict[str, Any]) -> dict[str, Any]:
    """Return JSON Schema; a name that an object does not list is none of its own."""
    if "$ref" in node:
        return {"$ref": f"#/$defs/{node['$ref']}"}
    kept = ("type", "enum", "format")
    schema: dict[str, Any] = {key: node[key] for key in kept if key in node}
    if schema.get("type") == "any":
        del schema["type"]
    if bound := _WHOLE_NUMBER.get(schema.get("format", "")):
        schema |= {"minimum": -bound, "maximum": bound - 1}
    if "items" in node:
        schema["items"] = _schema(node["items"])
    if schema.get("type") == "object":
        properties = node.get("properties", {}).items()
        schema["properties"] = {name: _schema(each) for name, each in properties}
        others = node.get("additionalProperties")
        schema["additionalProperties"] = _schema(others) if others else False
    return schema


def _is_duration(text: str) -> bool:
    return bool(re.fullmatch(r"-?\d{1,12}(\.\d{1,9})?s", text))


def _is_moment(text: str) -> bool:
    moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)"
    return bool(re.fullmatch(moment, text))


_FORMATS = {"google-duration": _is_duration, "google-datetime": _is_moment}
