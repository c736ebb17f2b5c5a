"""The project's own Python files, parsed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = (
    "config",
    "notifications",
    "inbox",
    "preferences",
    "templates",
    "providers",
    "audit",
    "tenants",
    "foundation",
)
FOLDERS = (*APPS, "devstack", "benchmarks", "tests")


@dataclass(frozen=True)
class Source:
    """A module: where it is and what it says."""

    path: str
    text: str
    tree: ast.Module


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Parse the modules of these folders, migrations left out."""
    return tuple(
        Source(str(file.relative_to(ROOT)), text := file.read_text(), ast.parse(text))
        for folder in folders
        for file in sorted((ROOT / folder).rglob("*.py"))
        if "migrations" not in file.parts
    )


def functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Walk a module's functions and methods, nested ones too."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def strings(source: Source) -> Iterator[ast.Constant]:
    """Walk a module's string literals; parts of f-strings count."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
