"""Keywords that say what a text may hold are refused where they say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from templates.variable_schema import check_schema


def faults(declared: dict[str, Any], **schema: Any) -> list[tuple[str, str]]:
    errors = check_schema({"properties": {"a": declared}, **schema})
    return [(error.pointer, error.message) for error in errors]


def url(hosts: object, **keywords: Any) -> dict[str, Any]:
    return {"type": "string", "format": "uri", "x-hosts": hosts, **keywords}


@pytest.mark.parametrize(
    "declared",
    [
        url(["example.com"]),
        url(["*.example.com", "example.com:8443", "xn--80ak6aa92e.com"]),
        url(["a.example.com.vn", "*.example.com.vn"]),
        url(["example.com"], type=["string", "null"]),
        url(["example.com"], **{"x-schemes": ["http", "https"]}),
        {"type": "string", "x-text": "any"},
        {"type": "string", "format": "email", "x-text": "any"},
        {"properties": {"x-text": {"type": "string"}}},
        {"const": {"x-hosts": 1}},
        {"items": {"additionalProperties": {"type": "string", "x-text": "any"}}},
    ],
)
def test_keywords_that_mean_something_are_accepted(declared: dict[str, Any]) -> None:
    assert faults(declared) == []


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        "example.com",
        {"example.com": True},
        [7],
        [""],
        ["example"],
        ["localhost"],
        ["Example.com"],
        ["https://example.com"],
        ["example.com/"],
        ["example.com."],
        [".example.com"],
        ["an@example.com"],
        ["example.com:0"],
        ["example.com:65536"],
        ["example.com:x"],
        ["*"],
        ["*.com"],
        ["*.com.vn"],
        ["*.co.uk"],
        ["a.*.example.com"],
        ["*example.com"],
        ["-a.example.com"],
        ["127.0.0.1"],
        ["[::1]"],
        ["\uff45xample.com"],
        ["example.com\n"],
    ],
    ids=str,
)
def test_malformed_hosts_are_refused(hosts: object) -> None:
    assert [pointer for pointer, _ in faults(url(hosts))] == ["/properties/a/x-hosts"]


@pytest.mark.parametrize(
    ("declared", "keyword"),
    [
        ({"type": "string", "x-hosts": ["example.com"]}, "x-hosts"),
        ({"format": "uri", "x-hosts": ["example.com"]}, "x-hosts"),
        ({"type": "string", "x-schemes": ["https"]}, "x-schemes"),
        (url(["example.com"], **{"x-schemes": []}), "x-schemes"),
        (url(["example.com"], **{"x-schemes": ["ftp"]}), "x-schemes"),
        (url(["example.com"], **{"x-text": "any"}), "x-text"),
        ({"type": "string", "x-text": "all"}, "x-text"),
        ({"type": "string", "x-text": True}, "x-text"),
        ({"x-text": "any"}, "x-text"),
        ({"type": "object", "x-text": "any"}, "x-text"),
        ({"type": "string", "format": "uri"}, "format"),
        ({"type": "string", "format": "email"}, "format"),
        ({"type": "string", "format": "ipv4"}, "format"),
    ],
)
def test_keyword_that_cannot_mean_anything_is_refused(
    declared: dict[str, Any], keyword: str
) -> None:
    assert [pointer for pointer, _ in faults(declared)] == [f"/properties/a/{keyword}"]


@pytest.mark.parametrize("around", ["anyOf", "oneOf", "allOf", "prefixItems"])
def test_keyword_that_nobody_reads_is_refused(around: str) -> None:
    found = faults({around: [{"type": "string", "x-text": "any"}]})

    assert [pointer for pointer, _ in found] == [f"/properties/a/{around}/0/x-text"]


def test_keyword_behind_a_reference_is_read() -> None:
    definitions = {"b": {"type": "string", "x-text": "any"}}

    assert faults({"$ref": "#/$defs/b"}, **{"$defs": definitions}) == []
