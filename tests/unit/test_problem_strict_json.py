from __future__ import annotations

import time
import tracemalloc
from io import BytesIO
from typing import Any

import pytest
from rest_framework.exceptions import (
    APIException,
    ParseError,
    UnsupportedMediaType,
    ValidationError,
)
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from config.json_body import BodyTooLarge, StrictJSONParser, decode


def parse(body: bytes, *, content_type: str = "application/json", **headers: str):
    request = APIRequestFactory().post(
        "/", body, content_type=content_type, headers=headers
    )
    wrapped = APIView(parser_classes=[StrictJSONParser]).initialize_request(request)
    return StrictJSONParser().parse(BytesIO(body), None, {"request": wrapped})


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": [1, 2.5, null, true, "x"]}', {"a": [1, 2.5, None, True, "x"]}),
        (b'"\\\\u0000"', "\\u0000"),
        ('"\U0001f642"'.encode(), "\U0001f642"),
        (b'"\\ud83d\\ude42"', "\U0001f642"),
        (b"[" * 20 + b"]" * 20, None),
        (b'{"brackets": "[[[[[[[[[[[[[[[[[[[[[[[[\\"[["}', None),
    ],
    ids=ascii,
)
def test_ordinary_json_is_read(body, value):
    """O-HYG-1: text that spells the escape is harmless."""
    read = parse(body)

    assert value is None or read == value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{'a': 1}",
        b'{"a": 1} {}',
        b'{"a": 1, "a": 2}',
        b'{"x": {"a": 1, "a": 1}}',
        b"[NaN]",
        b"[Infinity, -Infinity]",
        b"[1e400]",
        b"[123456789012345678901234567890]",
        b"[" + b"9" * 5000 + b"]",
        b"[" * 21 + b"]" * 21,
        b"[" * 1000,
        b'{"a":' * 30_000,
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\x00"',
        b'\xef\xbb\xbf{"a": 1}',
        '{"a": 1}'.encode("utf-16"),
    ],
    ids=lambda body: ascii(body[:30]),
)
def test_doubtful_json_is_refused(body):
    """Bad input 8, 9 and 10."""
    with pytest.raises(ParseError):
        parse(body)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"a": {"b": ["x", "An\\u0000h"]}}', {"a": {"b": {1: None}}}),
        (b'{"name": "\\ud800"}', {"name": None}),
        (b'{"v": {"An\\u0000h": 1}}', {"v": None}),
        (b'{"\\udfff": 1}', None),
    ],
)
def test_text_that_nobody_can_store_is_invalid(body, detail):
    """Bad input 11, O-HYG-1."""
    with pytest.raises(ValidationError) as refused:
        parse(body)

    found: Any = refused.value.detail
    while isinstance(detail, dict):
        (step,) = detail
        assert list(found) == [step]
        found, detail = found[step], detail[step]
    assert found == ["NUL and half surrogate pairs are not text."]


@pytest.mark.parametrize(
    ("content_type", "headers"),
    [
        ("application/json; charset=utf-16", {}),
        ('application/json; charset="latin-1"', {}),
        ("application/json", {"Content-Encoding": "gzip"}),
    ],
)
def test_other_encoding_is_unsupported(content_type, headers):
    """Bad input 10 and 12: nothing is unpacked, so no bomb goes off."""
    with pytest.raises(UnsupportedMediaType):
        parse(b"{}", content_type=content_type, **headers)


@pytest.mark.parametrize(
    "body",
    [b"[" + b"1," * 1_000_000 + b"1]", b'"' + b"x" * 10_000_000 + b'"'],
    ids=["million-elements", "ten-megabytes"],
)
def test_large_body_is_refused_without_reading_it_all(body):
    """Bad input 10."""
    tracemalloc.start()

    with pytest.raises(BodyTooLarge):
        parse(body)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(body)


@pytest.mark.parametrize(
    "body",
    [b"[" * 262_144, b"[]," * 87_000, b'"' * 262_144, b'"\\' * 131_072, b"{" * 262_144],
    ids=lambda body: ascii(body[:3]),
)
def test_hostile_body_costs_little_time(body):
    """Bad input 10: the scan is linear, whatever the text."""
    started = time.process_time()

    with pytest.raises(APIException):
        decode(body)

    assert time.process_time() - started < 0.5
