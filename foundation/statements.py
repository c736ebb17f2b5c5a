"""Cursors for hand-written SQL: bound and prepared by the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import psycopg
from django.db import InterfaceError, InternalError, OperationalError, connection
from psycopg.pq import Format

from foundation.arrays import array_literal

# The database is away: Django's words for it and the driver's own, which the cursors
# here raise. Behind a failover a read-only server may still answer.
AWAY = (
    OperationalError,
    InterfaceError,
    InternalError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,
)

Parameters = Sequence[Any] | Mapping[str, Any]


class Cursor(psycopg.Cursor[tuple[Any, ...]]):
    """A cursor that writes lists as array literals; the statement casts them."""

    def execute(
        self, query: Any, params: Parameters | None = None, **options: Any
    ) -> Self:
        if isinstance(params, Mapping):
            params = {name: _written(value) for name, value in params.items()}
        elif params is not None:
            params = [_written(value) for value in params]
        return super().execute(query, params, **options)


def _written(value: object) -> object:
    return array_literal(value) if type(value) is list else value


def server_cursor() -> Cursor:
    """Open a cursor on Django's connection that binds on the server.

    Django's own cursors paste parameters into the text, so that every execution
    is parsed and planned anew; this one lets psycopg prepare the statement.
    Results come in binary. It takes part in the transaction that Django has open.
    """
    connection.ensure_connection()
    cursor = Cursor(connection.connection)
    # Of dates and ids as text, Django's and psycopg's readers are in Python.
    cursor.format = Format.BINARY
    return cursor
