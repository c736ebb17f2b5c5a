"""Read JSON strictly: what two parsers could understand differently is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import (
    APIException,
    ParseError,
    UnsupportedMediaType,
    ValidationError,
)
from rest_framework.parsers import BaseParser

DEEPEST = 20
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
# An exponent is looked for where a value begins: in text, 3e is half of every UUID.
_DOUBTFUL = re.compile(rb"\\u|[0-9]{19}|(?:^|[\s:,\[])-?[0-9][0-9.]*[eE]")
# PostgreSQL stores neither: NUL nor half a surrogate pair.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BodyTooLarge(APIException):
    """The body is larger than the API takes."""

    status_code = 413

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit // 1024} kB.")


class StrictJSONParser(BaseParser):
    """Parses a body of bounded size and depth, in UTF-8, without doubtful values."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        request = (parser_context or {})["request"]
        _check_encoding(request.headers, request.content_type)
        limit = _largest((parser_context or {}).get("view"))
        raw: bytes = stream.read(limit + 1)
        if len(raw) > limit:
            raise BodyTooLarge(limit)
        return decode(raw)


def _largest(view: object) -> int:
    """A view may take more than others, and says so."""
    return getattr(view, "largest_body", settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def _check_encoding(headers: Mapping[str, str], content_type: str) -> None:
    charset = re.search(r"charset=\"?([\w-]+)", content_type, re.IGNORECASE)
    if charset and charset[1].lower() not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType(content_type)
    if headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType(f"content encoding {headers['Content-Encoding']}")


def decode(raw: bytes) -> Any:
    """Decode a body; raise ParseError, or ValidationError for text nobody can store."""
    # Few brackets cannot nest deep, and what nobody can store must be written with an
    # escape or many digits: ordinary bodies are looked through once, in C.
    if raw.count(b"[") + raw.count(b"{") > DEEPEST:
        _check_depth(raw)
    try:
        value = json.loads(
            raw.decode(), object_pairs_hook=_members, parse_constant=_refuse_constant
        )
    except ValueError as malformed:
        raise ParseError(f"The body is not JSON: {malformed}.") from malformed
    if _DOUBTFUL.search(raw):
        _check_values(value, ())
    return value


def _check_depth(raw: bytes) -> None:
    # Before decoding, which recurses: stops at the 21st bracket, however many follow.
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(raw):
        first = token[0][:1]
        depth += (first in b"[{") - (first in b"]}")
        if depth > DEEPEST:
            raise ParseError(f"The body is nested deeper than {DEEPEST} levels.")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ParseError("The body names a member twice.")
    return members


def _refuse_constant(name: str) -> Any:
    raise ParseError(f"{name} is not JSON.")


def _check_values(value: object, path: tuple[str | int, ...]) -> None:
    match value:
        case dict():
            if any(_UNSTORABLE.search(name) for name in value):
                raise _unstorable(path)
            for name, member in value.items():
                _check_values(member, (*path, name))
        case list():
            for index, item in enumerate(value):
                _check_values(item, (*path, index))
        case str() if _UNSTORABLE.search(value):
            raise _unstorable(path)
        case int() | float() if not abs(value) < 2**63:
            raise ParseError("The body holds a number that is too large.")


def _unstorable(path: tuple[str | int, ...]) -> ValidationError:
    detail: Any = ["NUL and half surrogate pairs are not text."]
    for step in reversed(path):
        detail = {step: detail}
    return ValidationError(detail)
