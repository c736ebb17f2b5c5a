"""Which texts a schema lets in: plain ones, URLs of some hosts, or any."""

from __future__ import annotations

from typing import Any

import pytest

from templates.variables import check_variables

LINK = "must not hold a link"
WHOLE = "must be a whole URL in ASCII, without credentials"
HOST = "must be at a host that the template allows"


def check(schema: dict[str, Any], value: object) -> dict[str, str]:
    errors = check_variables(
        schema={"properties": {"a": schema}}, variables={"a": value}
    )
    return {error.pointer: error.message for error in errors}


def url_schema(*hosts: str, **keywords: Any) -> dict[str, Any]:
    return {"type": "string", "format": "uri", "x-hosts": list(hosts), **keywords}


SHOP = url_schema("example.com", "*.example.org", "example.com:8443")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/",
        "https://EXAMPLE.com/orders/1?a=b&c=d#e",
        "https://example.com:8443/a",
        "https://www.example.org/a%20b",
        "https://a.b.example.org/~an/@an",
        "https://example.com/?next=https://example.net",
        "https://example.com/(a)'b!c*$+,;=:",
    ],
)
def test_url_of_an_allowed_host_is_accepted(url: str) -> None:
    assert check(SHOP, url) == {}


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.com/",
        "https://evil.com/example.com",
        "https://example.com.evil.com/",
        "https://evil-example.com/",
        "https://evilexample.org/",
        "https://example.org/",
        "https://example.org.evil.com/",
        "https://.example.org/",
        "https://a..example.org/",
        "https://example.com./",
        "https://example.com:443/",
        "https://example.com:8444/",
        "https://www.example.org:8443/",
        "https://www.example.com/",
        "https://127.0.0.1/",
        "https://xn--exmple-cua.com/",
    ],
)
def test_url_of_another_host_is_refused(url: str) -> None:
    """Bad input 41"""
    assert check(SHOP, url) == {"/a": HOST}


@pytest.mark.parametrize(
    "url",
    [
        "https://good@example.com/",
        "https://example.com@evil.com/",
        "https://example.com:x@evil.com/",
        "https://evil.com#@example.com/",
        "https://example.com?@evil.com/",
        "https://example.com#.evil.com",
        "https://example.com\\@evil.com/",
        "https://evil.com\\.example.org/",
        "https:\\\\example.com/",
        "https:/example.com/",
        "https:///example.com/",
        "https:example.com",
        "//example.com/",
        "example.com",
        "https://exam\tple.com/",
        "https://example.com\n.evil.com/",
        " https://example.com/",
        "https://example.com/ ",
        "https://example.com/a b",
        "https://example.com/<script>",
        'https://example.com/"onclick=',
        "https://example.com/%zz",
        "https://example.com/é",
        "https://\uff45xample.com/",
        "https://example。com/",
        "https://example.com/\u202e",
        "https://[::1]/",
        "javascript://example.com/%0aalert(1)",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://example.com/",
        "https://example.com/" + "a" * 2_000,
    ],
)
def test_url_that_parsers_read_in_several_ways_is_refused(url: str) -> None:
    """Bad input 40, 41, 96"""
    assert check(SHOP, url).keys() == {"/a"}


def test_http_needs_to_be_asked_for() -> None:
    open_schema = url_schema("example.com", **{"x-schemes": ["http", "https"]})

    assert check(SHOP, "http://example.com/") == {"/a": "must begin with https"}
    assert check(open_schema, "http://example.com/") == {}
    assert check(open_schema, "https://example.com/") == {}


def test_any_text_is_let_in_where_the_schema_says_so() -> None:
    quoted = "I pasted <b>evil.com</b> and an@evil.com"

    assert check({"type": "string", "x-text": "any"}, quoted) == {}
    assert check({"type": "string"}, quoted) == {"/a": "must not hold HTML"}


def test_what_the_schema_itself_names_is_let_in() -> None:
    assert check({"enum": ["example.com", "other"]}, "example.com") == {}
    assert check({"const": {"site": "example.com"}}, {"site": "example.com"}) == {}
    assert (
        check_variables(
            schema={"properties": {"site": {"type": "string", "default": "a.com"}}},
            variables={},
        )
        == []
    )


def test_texts_and_names_inside_are_judged() -> None:
    value = {"lines": ["ok", {"note": "evil.com"}], "evil.net": 1}

    assert check({}, value) == {
        "/a/evil.net": f"its name {LINK}",
        "/a/lines/1/note": LINK,
    }


def test_rules_are_found_behind_members_items_and_references() -> None:
    schema = {
        "$defs": {
            "link": SHOP,
            "line": {"properties": {"url": {"$ref": "#/$defs/link"}}},
        },
        "properties": {
            "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
            "by_name": {"type": "object", "additionalProperties": SHOP},
        },
    }
    good, evil = "https://example.com/1", "https://evil.com/1"

    errors = check_variables(
        schema=schema,
        variables={
            "lines": [{"url": good}, {"url": evil}],
            "by_name": {"one": good, "two": evil},
        },
    )

    assert [(error.pointer, error.message) for error in errors] == [
        ("/by_name/two", HOST),
        ("/lines/1/url", HOST),
    ]


def test_rules_of_an_alternative_let_nothing_in() -> None:
    schema = {"anyOf": [{"type": "string", "x-text": "any"}, {"type": "integer"}]}

    assert check(schema, "evil.com") == {"/a": LINK}


def test_a_broken_rule_of_the_schema_is_told_first_and_alone() -> None:
    assert check({"type": "string", "maxLength": 3}, "evil.com") == {
        "/a": "breaks maxLength 3"
    }


def test_message_never_holds_the_text() -> None:
    for schema in (SHOP, {"type": "string"}):
        for message in check(schema, "https://secret@evil.com/0912345678").values():
            assert "secret" not in message
            assert "evil" not in message
