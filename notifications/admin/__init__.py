"""The console's pages about notifications, their deliveries, and what got stuck."""

from __future__ import annotations

from notifications.admin import (  # noqa: F401 - they register
    account_faults,
    dead_letters,
    deliveries,
    notifications,
    rejected_records,
)
