"""`delivery.status` is written in notifications/transitions.py and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.structure.source import APPS, Source, sources, strings

WRITER = "notifications/transitions.py"
UPDATES_DELIVERY = re.compile(r"\bUPDATE\s+(ONLY\s+)?(public\.)?\"?delivery\b", re.I)
WRITING_CALLS = {"update", "update_or_create", "bulk_update"}


def found(source: Source) -> Iterator[str]:
    for text in strings(source):
        if UPDATES_DELIVERY.search(str(text.value)):
            yield f"{source.path}:{text.lineno} SQL"
    # Other apps have statuses of their own; a delivery is in notifications' hands.
    if not source.path.startswith("notifications/"):
        return
    for node in ast.walk(source.tree):
        if assigns_status(node) or updates_status(node):
            yield f"{source.path}:{node.lineno} ORM"  # type: ignore[attr-defined]  # a statement or a call


def assigns_status(node: ast.AST) -> bool:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    return any(isinstance(at, ast.Attribute) and at.attr == "status" for at in targets)


def updates_status(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WRITING_CALLS
        and any(keyword.arg == "status" for keyword in node.keywords)
    )


def test_status_has_one_writer():
    others = [
        place
        for source in sources(*APPS)
        if source.path != WRITER
        for place in found(source)
    ]

    assert others == []


@pytest.mark.parametrize(
    "text",
    [
        "delivery.status = 'sent'",
        "Delivery.objects.filter(id=1).update(status='sent')",
        "SQL = '''\nUPDATE delivery d\n   SET status = 'sent' '''",
        "SQL = 'update only public.delivery set x = 1'",
    ],
)
def test_a_second_writer_would_be_found(text):
    source = Source("notifications/other.py", text, ast.parse(text))

    assert list(found(source))


def test_reading_a_status_is_nobodys_business():
    text = "SQL = 'SELECT status FROM delivery'\nif delivery.status == 'sent': pass"

    assert not list(found(Source("notifications/other.py", text, ast.parse(text))))
