"""Which deliveries there are to queue."""

from __future__ import annotations

import os
from uuid import UUID

import psycopg

_DUE = "SELECT delivery_id FROM outbox WHERE due_at <= app_now() ORDER BY due_at"


def due_deliveries() -> list[UUID]:
    """Read them out of the outbox, in the order in which they became due."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        return [row[0] for row in connection.execute(_DUE)]
