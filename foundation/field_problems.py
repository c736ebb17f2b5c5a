"""What is wrong with single fields: each with a JSON pointer to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One thing wrong in the body: a JSON pointer to it, and what."""

    pointer: str
    detail: str


class FieldsRefused(Exception):
    """What was asked cannot be done, because of single fields."""

    def __init__(self, *errors: FieldProblem) -> None:
        super().__init__("; ".join(f"{e.pointer}: {e.detail}" for e in errors))
        self.errors = errors


def locate(detail: object, pointer: str = "") -> list[FieldProblem]:
    """Return what the nested lists and objects of a validation error complain of."""
    match detail:
        case dict():
            members = [(_child(pointer, name), inner) for name, inner in detail.items()]
        case list() if any(isinstance(item, dict) for item in detail):
            members = [(f"{pointer}/{at}", item) for at, item in enumerate(detail)]
        case list():
            members = [(pointer, item) for item in detail]
        case _:
            return [FieldProblem(pointer, str(detail))]
    return [found for at, inner in members for found in locate(inner, at)]


def _child(pointer: str, name: object) -> str:
    if name == "non_field_errors":
        return pointer
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"
