from __future__ import annotations

from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from templates.variable_schema import check_schema


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": {"type": "string", "format": "date"}}},
        {
            "$defs": {"a": {"type": "string"}},
            "properties": {"b": {"$ref": "#/$defs/a"}},
        },
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": "https://example.com/order",
            "definitions": {"a/b": {"type": "string"}},
            "properties": {"c": {"$ref": "#/definitions/a~1b"}},
        },
        {"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}},
    ],
)
def test_schema_that_stands_on_its_own_is_accepted(schema: dict[str, Any]) -> None:
    assert check_schema(schema) == []


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ([], ""),
        ({"type": "string"}, "/type"),
        ({"properties": 3}, "/properties"),
        ({"properties": {"a": {"type": "strin"}}}, "/properties/a/type"),
        ({"properties": {"a": {"pattern": "("}}}, "/properties/a/pattern"),
        ({"properties": {"a": {"pattern": r"(a)\1"}}}, "/properties/a/pattern"),
        ({"properties": {"a": {"format": "money"}}}, "/properties/a/format"),
        ({"required": "a"}, "/required"),
        ({"description": "a" * 40_000}, ""),
    ],
)
def test_what_is_wrong_is_located(schema: object, pointer: str) -> None:
    assert [error.pointer for error in check_schema(schema)] == [pointer]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "http://127.0.0.1/a"}}},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"properties": {"a": {"$ref": "other"}}},
        {"properties": {"a": {"$ref": "#anchor"}}},
        {"properties": {"a": {"$ref": "#"}}},
        {"properties": {"a": {"$ref": "#/$defs/nowhere"}}},
        {"properties": {"a": {"$dynamicRef": "#a"}}},
        {"properties": {"a": {"$id": "http://127.0.0.1/a"}}},
        {"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$schema": "http://127.0.0.1/schema"},
    ],
)
def test_reference_to_elsewhere_or_in_a_circle_is_refused(
    schema: dict[str, Any],
) -> None:
    assert len(check_schema(schema)) == 1


@pytest.fixture
def asked() -> Generator[tuple[str, list[str]]]:
    paths: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/schema", paths
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("keyword", ["$ref", "$schema", "$dynamicRef", "$id"])
def test_nothing_is_fetched(keyword: str, asked: tuple[str, list[str]]) -> None:
    """The library's own retriever fetches http and file references."""
    url, paths = asked

    check_schema({keyword: url})
    check_schema({"properties": {"a": {keyword: url}}})

    assert paths == []


def doubling(levels: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2}
        for level in range(levels)
    }
    return {"$defs": {**definitions, f"d{levels}": {"type": "string"}}}


def chain(length: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{step}": {"$ref": f"#/$defs/d{step + 1}"} for step in range(length)
    }
    return {"$defs": {**definitions, f"d{length}": {}}}


@pytest.mark.timeout(5)
@pytest.mark.parametrize("schema", [doubling(20), chain(700)], ids=["double", "chain"])
def test_references_that_blow_up_are_refused(schema: dict[str, Any]) -> None:
    """Twenty doublings took two minutes to tell one error."""
    assert "too large" in check_schema(schema)[0].message
