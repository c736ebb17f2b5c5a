"""Keep partitions ahead of time; acceptance fails where the current one is missing."""

from __future__ import annotations

from datetime import date

from foundation.statements import server_cursor

MONTHS_AHEAD = 3

_PARENTS = "SELECT parent FROM partitioned_table ORDER BY parent"
_MAKE = """
SELECT parent_name, month
  FROM unnest(%s::text[]) parent_name,
       generate_series(0, %s) n,
       LATERAL (SELECT (date_trunc('month', app_now() AT TIME ZONE 'UTC')
                        + n * interval '1 month')::date) m(month)
 WHERE make_partition(parent_name, month)
"""


def make_partitions(*, months_ahead: int = MONTHS_AHEAD) -> list[tuple[str, date]]:
    """Make what is missing of this month's and the next months' partitions.

    Returns the new ones. Several processes may run it at once.
    """
    with server_cursor() as cursor:
        cursor.execute(_PARENTS)
        parents = [row[0] for row in cursor.fetchall()]
        cursor.execute(_MAKE, [parents, months_ahead])
        return [(row[0], row[1]) for row in cursor.fetchall()]
