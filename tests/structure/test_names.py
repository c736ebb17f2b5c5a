from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.structure.source import APPS, FOLDERS, sources

BANNED_MODULES = {
    "common",
    "constants",
    "dto",
    "helpers",
    "interfaces",
    "managers",
    "misc",
    "services",
    "utils",
}
BANNED_CLASSES = re.compile(r".(Service|Manager|Handler|Processor)$")


def test_modules_are_named_for_what_they_own():
    banned = [
        source.path
        for source in sources(*FOLDERS)
        if BANNED_MODULES & set(Path(source.path).with_suffix("").parts)
    ]

    assert banned == []


def test_classes_are_things_and_not_roles():
    banned = [
        f"{source.path}:{node.lineno} {node.name}"
        for source in sources(*FOLDERS)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef) and BANNED_CLASSES.search(node.name)
    ]

    assert banned == []


def test_errors_say_what_they_mean():
    """The docstring of an error is its default message."""
    silent = [
        f"{source.path}:{node.lineno} {node.name}"
        for source in sources(*APPS)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
        and any(base_name(base).endswith(("Exception", "Error")) for base in node.bases)
        and not ast.get_docstring(node)
    ]

    assert silent == []


def base_name(base: ast.expr) -> str:
    match base:
        case ast.Name():
            return base.id
        case ast.Attribute():
            return base.attr
    return ""
