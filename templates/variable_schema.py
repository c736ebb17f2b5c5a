"""The JSON Schema that says which variables a template takes. No Django here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson
from jsonschema_rs import ValidationError

from templates.plain_json import children, count_plain, plainness_fault
from templates.references import ReferenceRefused, find_referenced
from templates.text_keywords import find_misuse
from templates.text_rules import TextRules, read_rules

# Every $ref put in full: each level of references could double what is checked.
MAX_EXPANDED_VALUES = 2_000
MAX_EXPANDED_DEPTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaError:
    """What is wrong with a schema, at a JSON pointer into it."""

    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """A schema ready to check with; `size` counts the values it is written with."""

    validator: jsonschema_rs.Validator
    rules: TextRules
    defaults: Mapping[str, Any]
    size: int


class SchemaTooLarge(ValueError):
    """The schema is too large with every reference put in full."""


def check_schema(schema: object) -> list[SchemaError]:
    """Return why this cannot be the schema of a template's variables."""
    if fault := plainness_fault(schema):
        return [SchemaError(pointer="", message=fault)]
    if not isinstance(schema, dict):
        return [SchemaError(pointer="", message="must be an object")]
    if schema.get("type", "object") != "object":
        return [SchemaError(pointer="/type", message="must be object")]
    try:
        _Expansion(root=schema).size(schema, depth=0)
        _validator(schema)
        _validator(_closed(schema))
    except ValidationError as error:
        pointer = json_pointer(*error.instance_path)
        return [SchemaError(pointer=pointer, message=error.message)]
    except (ReferenceRefused, SchemaTooLarge) as error:
        return [SchemaError(pointer="", message=str(error) or str(error.__doc__))]
    return [
        SchemaError(pointer=json_pointer(*path), message=message)
        for path, message in find_misuse(schema)
    ]


def compile_schema(schema: Mapping[str, Any]) -> CompiledSchema:
    """Return the schema compiled, closed at the top; one process does it once."""
    return _compile(orjson.dumps(schema))


def defaults_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the top-level variables that may be left out, with their values."""
    return {
        name: declared["default"]
        for name, declared in schema.get("properties", {}).items()
        if isinstance(declared, dict) and "default" in declared
    }


def json_pointer(*path: str | int) -> str:
    """Write a path as a JSON pointer."""
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps)


@lru_cache(maxsize=512)
def _compile(schema_json: bytes) -> CompiledSchema:
    schema: dict[str, Any] = orjson.loads(schema_json)
    return CompiledSchema(
        _validator(_closed(schema)),
        read_rules(schema, schema),
        defaults_of(schema),
        count_plain([schema]),
    )


def _validator(schema: dict[str, Any]) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        schema,
        # Left to itself the library fetches http and file references.
        retriever=_refuse,
        pattern_options=jsonschema_rs.RegexOptions(),  # linear time, no look-around
        validate_formats=True,
        ignore_unknown_formats=False,
    )


def _refuse(uri: str) -> Any:
    raise ReferenceRefused(uri)


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Refuse surplus variables and blank required ones, unless the schema says more."""
    required = schema.get("required", [])
    properties = {
        name: _not_blank(declared) if name in required else declared
        for name, declared in schema.get("properties", {}).items()
    }
    closed = {"type": "object", "additionalProperties": False}
    return closed | schema | {"properties": properties}


def _not_blank(declared: Any) -> Any:
    if isinstance(declared, dict) and declared.get("type") == "string":
        return {"minLength": 1} | declared
    return declared


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expansion:
    """Measures a schema with every reference put in full."""

    root: dict[str, Any]
    # The size behind each reference, None while it is being counted.
    known: dict[str, int | None] = field(default_factory=dict)

    def size(self, node: object, *, depth: int) -> int:
        if depth > MAX_EXPANDED_DEPTH:
            raise SchemaTooLarge
        size = 1 + sum(self.size(child, depth=depth + 1) for child in children(node))
        if isinstance(node, dict):
            size += self._behind(node, depth=depth + 1)
        if size > MAX_EXPANDED_VALUES:
            raise SchemaTooLarge
        return size

    def _behind(self, node: dict[str, Any], *, depth: int) -> int:
        moved = node is not self.root and isinstance(node.get("$id"), str)
        if moved or "$dynamicRef" in node or "$recursiveRef" in node:
            raise ReferenceRefused
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return 0
        if reference not in self.known:
            self.known[reference] = None
            self.known[reference] = self.size(
                find_referenced(self.root, reference), depth=depth
            )
        behind = self.known[reference]
        if behind is None:
            raise ReferenceRefused
        return behind
