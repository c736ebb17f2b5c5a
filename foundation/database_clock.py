"""The database's clock: leases, due dates and timestamps follow no other."""

from __future__ import annotations

from datetime import datetime

from django.db import connection
from django.db.models import DateTimeField, Func


class AppNow(Func):
    """`app_now()` as a column default.

    STABLE and statement time, so that it can be an index condition; the test
    database puts a movable clock behind the same name.
    """

    function = "app_now"
    template = "%(function)s()"
    output_field = DateTimeField()


def database_now() -> datetime:
    """Read the database's clock, in UTC."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT app_now()")
        row: tuple[datetime] = cursor.fetchone()
    return row[0]
