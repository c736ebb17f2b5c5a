from __future__ import annotations

import ast

from tests.structure.source import APPS, FOLDERS, functions, sources

LONGEST_FUNCTION = 50
LONGEST_FILE = 400
BROAD_EXCEPTS = 2
PATCHES_PER_TEST = 0.2
BROAD = {"Exception", "BaseException"}
PATCHING = {"patch", "Mock", "MagicMock", "AsyncMock"}


def test_no_function_is_longer_than_fifty_lines():
    long = [
        f"{source.path}:{node.lineno} {node.name}"
        for source in sources(*FOLDERS)
        for node in functions(source)
        if (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]

    assert long == []


def test_no_file_is_longer_than_four_hundred_lines():
    long = [
        source.path
        for source in sources(*FOLDERS)
        if len(source.text.splitlines()) > LONGEST_FILE
    ]

    assert long == []


def test_broad_excepts_are_counted_on_one_hand():
    broad = [
        f"{source.path}:{node.lineno}"
        for source in sources(*APPS, "devstack")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler) and is_broad(node.type)
    ]

    assert len(broad) <= BROAD_EXCEPTS, broad


def is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(is_broad(each) for each in caught.elts)
    return caught is None or (isinstance(caught, ast.Name) and caught.id in BROAD)


def test_modules_have_content():
    """An app has the files it needs and no others."""
    empty = [
        source.path
        for source in sources(*APPS)
        if not source.path.endswith("__init__.py")
        and all(is_preamble(node) for node in source.tree.body)
    ]

    assert empty == []


def is_preamble(node: ast.stmt) -> bool:
    """Tell a docstring or an import from content."""
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def test_tests_patch_next_to_nothing():
    """A mock is the last resort: real servers and stubs that speak real protocols."""
    every = sources("tests")
    tests = sum(
        node.name.startswith("test_") for source in every for node in functions(source)
    )
    patches = [
        f"{source.path}:{node.lineno}"
        for source in every
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and called_name(node) in PATCHING
    ]

    assert len(patches) <= PATCHES_PER_TEST * tests, patches


def called_name(call: ast.Call) -> str:
    """Return the last name of what is called; `mock.patch.object` counts as patch."""
    names = [
        each.id if isinstance(each, ast.Name) else each.attr
        for each in ast.walk(call.func)
        if isinstance(each, ast.Name | ast.Attribute)
    ]
    return "patch" if "patch" in names else names[0]
