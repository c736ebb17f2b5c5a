"""Cursors for hand-written SQL: bound and prepared by the server."""

from __future__ import annotations

from typing import Any, TypeAlias

import psycopg
from django.db import connection

Cursor: TypeAlias = psycopg.Cursor[tuple[Any, ...]]


def server_cursor() -> Cursor:
    """Open a cursor on Django's connection that binds on the server.

    Django's own cursors paste parameters into the text, so that every execution
    is parsed and planned anew; this one lets psycopg prepare the statement.
    It takes part in the transaction that Django has open.
    """
    connection.ensure_connection()
    return psycopg.Cursor(connection.connection)
