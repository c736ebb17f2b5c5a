"""Are the variables what a template's schema asks for? No Django here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema_rs import ValidationError, Validator
from jsonschema_rs import ValidationErrorKind as Kind

from templates.plain_json import count_plain, plainness_fault
from templates.text_rules import find_faults
from templates.variable_schema import CompiledSchema, compile_schema, json_pointer

MAX_ERRORS = 20
# Telling an error takes up to 75 µs and the library tells all or one: 16,000 wrong
# values against many alternatives took all memory. Where the product of values and
# schema size is beyond this, only the first error is told.
_MAX_ERROR_WORK = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableError:
    """What is wrong at a JSON pointer; the message never holds the value."""

    pointer: str
    message: str


def check_variables(
    *, schema: Mapping[str, Any], variables: Mapping[str, Any]
) -> list[VariableError]:
    """Return what is wrong, each error located by a pointer into the variables.

    A surplus variable is an error unless the schema allows it, `default` stands in
    for one left out, and a required text may not be empty unless its schema gives a
    `minLength`. A text that holds HTML or a link is one (templates.text_rules).
    """
    if fault := plainness_fault(variables):
        return [VariableError(pointer="", message=fault)]
    compiled = compile_schema(schema)
    given = {**compiled.defaults, **variables}
    errors = []
    if not compiled.validator.is_valid(given):
        errors = list(_broken(compiled, given))
    told = {error.pointer for error in errors}
    for path, message in find_faults(compiled.rules, variables):
        if (pointer := json_pointer(*path)) not in told:
            errors.append(VariableError(pointer=pointer, message=message))
    return sorted(errors, key=lambda error: error.pointer)[:MAX_ERRORS]


def _broken(compiled: CompiledSchema, given: object) -> Iterable[VariableError]:
    """Yield which rules of the schema are broken."""
    if count_plain([given]) * compiled.size > _MAX_ERROR_WORK:
        errors = _first_error(compiled.validator, given)
    else:
        errors = compiled.validator.iter_errors(given)
    for error in errors:
        yield from _locate(error)


def _first_error(validator: Validator, given: object) -> Iterable[ValidationError]:
    try:
        validator.validate(given)
    except ValidationError as error:
        return [error]
    return []


def _locate(error: ValidationError) -> Iterable[VariableError]:
    """Point at the name that is missing or surplus, not at the object around it."""
    match error.kind:
        case Kind.Required(property=name):
            yield _at(error, name, message="is missing")
        case Kind.AdditionalProperties(unexpected=names):
            for name in names[:MAX_ERRORS]:
                yield _at(error, name, message="is not a variable of this template")
        case kind:
            yield _at(error, message=_broken_rule(kind))


def _at(error: ValidationError, *names: str, message: str) -> VariableError:
    pointer = json_pointer(*error.instance_path, *names)
    return VariableError(pointer=pointer, message=message)


def _broken_rule(kind: Kind) -> str:
    """Name the rule and its limit, never the value: it may be personal."""
    match kind:
        case Kind.Type(types=types):
            return f"must be of type {' or '.join(types)}"
        case Kind.MinLength(limit=1):
            return "must not be empty"
        case Kind.Format(format=name):
            return f"must be a {name}"
    limit = kind.as_dict().get("limit")
    return f"breaks {kind.name}" if limit is None else f"breaks {kind.name} {limit}"
