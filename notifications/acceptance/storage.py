"""Refuse while there is still room: a full disk would stop deliveries as well."""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.conf import settings

from foundation.statements import AWAY, server_cursor
from notifications.metrics import observe_shed
from tenants.categories import Priority
from tenants.process_cache import Sample

log = structlog.get_logger(__name__)

# Of DATABASE_MAX_BYTES: how full it may be for a class to be accepted. What is there
# already needs the rest, for its events.
_SHARES = {Priority.LOW: 0.90, Priority.NORMAL: 0.95, Priority.HIGH: 0.99}


class StorageFull(Exception):
    """The database has almost no room left; nothing was accepted."""


def check_storage(priority: Priority) -> None:
    """Raise StorageFull if the database is too full for the class.

    PostgreSQL does not know how large its disk is; where the settings do not say so
    either, nothing is refused.
    """
    most = settings.DATABASE_MAX_BYTES
    if most is None or _size.current() < _SHARES[priority] * most:
        return
    observe_shed(reason="storage", priority=priority.key)
    raise StorageFull


def _read_size() -> int:
    try:
        with server_cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            (size,) = cursor.fetchone() or (0,)
    except AWAY as away:
        log.warning("storage_not_measured", error=type(away).__name__)
        return 0
    return int(size)


# It looks at every file of the database.
_size = Sample(_read_size, lifetime=timedelta(seconds=30), meanwhile=0)
