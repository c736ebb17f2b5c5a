"""A movable clock behind `app_now()`, in the test database alone."""

from __future__ import annotations

from datetime import datetime, timedelta

import psycopg
from django.conf import settings
from psycopg import sql

# Still STABLE and one row: the plans of the polling queries stay what they are.
MOVABLE = """
CREATE TABLE test_clock (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  offset_by interval NOT NULL DEFAULT '0',
  stopped_at timestamptz
);
INSERT INTO test_clock DEFAULT VALUES;
CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS
'SELECT (SELECT coalesce(stopped_at, statement_timestamp() + offset_by)
           FROM public.test_clock)';
"""


def install_clock(owner: psycopg.Connection) -> None:
    """Put the clock behind `app_now()`."""
    owner.execute(MOVABLE)
    app = sql.Identifier(settings.DATABASE_APP_ROLE)
    owner.execute(
        sql.SQL(
            "REVOKE ALL ON test_clock FROM {0}; GRANT SELECT ON test_clock TO {0}"
        ).format(app)
    )


class Clock:
    """Moves time for every process on the test database, from its next statement on."""

    def __init__(self, owner: psycopg.Connection) -> None:
        self._owner = owner

    def now(self) -> datetime:
        row = self._owner.execute("SELECT app_now()").fetchone()
        assert row is not None
        moment: datetime = row[0]
        return moment

    def advance(self, by: timedelta) -> None:
        self._owner.execute(
            "UPDATE test_clock SET offset_by = offset_by + %(by)s,"
            " stopped_at = stopped_at + %(by)s",
            {"by": by},
        )

    def set_offset(self, offset: timedelta) -> None:
        self._owner.execute(
            "UPDATE test_clock SET offset_by = %s, stopped_at = NULL", [offset]
        )

    def stop_at(self, moment: datetime) -> None:
        """Let it be this moment, whatever takes how long, until the clock is moved."""
        self._owner.execute("UPDATE test_clock SET stopped_at = %s", [moment])

    def reset(self) -> None:
        self.set_offset(timedelta())
