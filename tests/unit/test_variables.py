from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from templates.plain_json import MAX_BYTES, MAX_DEPTH, MAX_VALUES
from templates.variables import MAX_ERRORS, VariableError, check_variables

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "serial": {"type": "string"},
        "count": {"type": "integer", "maximum": 5},
        "greeting": {"type": "string", "default": "Hello"},
        "note": {"type": ["string", "null"]},
        "address": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
        "lines": {"type": "array", "items": {"type": "string", "maxLength": 3}},
        "day": {"type": "string", "format": "date"},
    },
    "required": ["name", "serial", "greeting"],
}


def check(**variables: Any) -> dict[str, str]:
    errors = check_variables(schema=SCHEMA, variables=variables)
    return {error.pointer: error.message for error in errors}


def test_variables_that_fit_are_accepted() -> None:
    assert check(name="An", serial="S1", count=5, note=None, lines=["a"]) == {}


@pytest.mark.parametrize(
    ("variables", "pointers"),
    [
        ({"name": "An"}, ["/serial"]),
        ({"name": "", "serial": None}, ["/name", "/serial"]),
        ({"name": "An", "serial": "S1", "foo": 1}, ["/foo"]),
        ({"Name": "An", "serial": "S1"}, ["/Name", "/name"]),
    ],
)
def test_missing_blank_null_and_surplus_variables_are_named(
    variables: dict[str, Any], pointers: list[str]
) -> None:
    """O-TPL-1 a to d, bad input 17."""
    assert list(check(**variables)) == pointers


def test_variable_with_a_default_may_be_left_out() -> None:
    """O-TPL-1."""
    assert "/greeting" not in check()


def test_errors_inside_are_located() -> None:
    """Bad input 17."""
    errors = check(
        name="An", serial=7, count=6, address={}, lines=["a", "long"], day="2026-02-30"
    )

    assert errors == {
        "/address/city": "is missing",
        "/count": "breaks maximum 5",
        "/day": "must be a date",
        "/lines/1": "breaks maxLength 3",
        "/serial": "must be of type string",
    }


def test_pointer_escapes_what_json_pointers_escape() -> None:
    assert "/a~1b~0c" in check(**{"a/b~c": 1})


def test_message_never_holds_the_value() -> None:
    secret = "0912345678"

    errors = check(name=[secret], serial=secret, count=secret, day=secret)

    assert len(errors) == 3
    assert secret not in str(errors)


def test_schema_can_open_itself_and_allow_blanks() -> None:
    schema = {
        "properties": {"name": {"type": "string", "minLength": 0}},
        "required": ["name"],
        "additionalProperties": True,
    }

    assert check_variables(schema=schema, variables={"name": "", "foo": 1}) == []


def test_schema_that_declares_nothing_takes_nothing() -> None:
    assert check_variables(schema={}, variables={}) == []
    assert [e.pointer for e in check_variables(schema={}, variables={"a": 1})] == ["/a"]


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a" * MAX_BYTES, f"more than {MAX_BYTES} bytes of JSON"),
        ("ế" * (MAX_BYTES // 3), f"more than {MAX_BYTES} bytes of JSON"),
        ([1] * MAX_VALUES, f"more than {MAX_VALUES} values"),
        (nested(MAX_DEPTH), f"nested more than {MAX_DEPTH} deep"),
        (nested(100_000), "not plain JSON"),
        (float("nan"), "not plain JSON"),
        (float("inf"), "not plain JSON"),
        (2**70, "not plain JSON"),
        ("\ud800", "not plain JSON"),
        ({1: 2}, "not plain JSON"),
        ((1, 2), "not plain JSON"),
        (object(), "not plain JSON"),
        (uuid4(), "not plain JSON"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_too_large_too_deep_or_not_json_is_refused(
    value: object, message: str
) -> None:
    """Bad input 9, 10, 11."""
    schema: dict[str, Any] = {"properties": {"a": {}}}

    errors = check_variables(schema=schema, variables={"a": value})

    assert errors == [VariableError(pointer="", message=message)]


def test_the_largest_and_deepest_is_accepted() -> None:
    schema: dict[str, Any] = {"properties": {"a": {}}}
    longest = "a" * (MAX_BYTES - len('{"a":""}'))

    for value in (longest, nested(MAX_DEPTH - 1), [1] * (MAX_VALUES - 2)):
        assert check_variables(schema=schema, variables={"a": value}) == []


def test_errors_are_told_up_to_a_number() -> None:
    surplus = {f"v{number:03}": number for number in range(200)}

    errors = check_variables(schema={}, variables=surplus)

    assert len(errors) == MAX_ERRORS


@pytest.mark.timeout(5)
def test_many_errors_against_many_alternatives_cost_little() -> None:
    """The library tells all errors or one: all of these took every byte there was."""
    alternatives = [{"const": f"v{number}"} for number in range(400)]
    schema = {"properties": {"a": {"items": {"anyOf": alternatives}}}}

    errors = check_variables(schema=schema, variables={"a": [1] * 1_900})

    assert [error.pointer for error in errors] == ["/a/0"]


@pytest.mark.timeout(5)
def test_pattern_takes_linear_time() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}

    errors = check_variables(schema=schema, variables={"a": "a" * 30_000 + "b"})

    assert errors == [VariableError(pointer="/a", message="breaks pattern")]


def test_threads_share_a_schema() -> None:
    def work(number: int) -> dict[str, str]:
        return check(name="An", serial="S1", count=number % 10)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(work, range(1_200)))

    assert found.count({}) == 4 * 30 * 6
    assert found.count({"/count": "breaks maximum 5"}) == 4 * 30 * 4
