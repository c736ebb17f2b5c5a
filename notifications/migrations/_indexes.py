"""Indexes that are built and dropped while everybody works, again if need be.

A migration that does so is no transaction: what it did before it failed stays. So it
holds nothing else, and each of its steps may be taken twice. Django's loader passes
over modules whose name begins with an underscore.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.postgres.operations import (
    AddIndexConcurrently,
    RemoveIndexConcurrently,
)
from django.db.migrations.operations.base import Operation


@contextmanager
def _patient(schema_editor: Any) -> Iterator[None]:
    """Wait for older transactions, a backup's too, for as long as they last; nobody
    waits behind us meanwhile."""
    schema_editor.execute("SET lock_timeout = 0")
    try:
        yield
    finally:
        schema_editor.execute("RESET lock_timeout")


class _Patiently(Operation):
    """Do and undo what it is mixed into with patience."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        with _patient(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        with _patient(schema_editor):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


class AddIndex(_Patiently, AddIndexConcurrently):
    """Build an index anew, in place of what a failed attempt has left of its name.

    That one is invalid: it finds nothing, and is kept up to date all the same.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        with _patient(schema_editor):
            schema_editor.remove_index(model, self.index, concurrently=True)
        super().database_forwards(app_label, schema_editor, from_state, to_state)


class RemoveIndex(_Patiently, RemoveIndexConcurrently):
    """Drop an index, if it is there."""
