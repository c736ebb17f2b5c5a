"""The console's pages for tenants, keys and staff, and what all pages share."""

from __future__ import annotations

from tenants.admin import (  # noqa: F401 - they register
    api_keys,
    categories,
    pumping_alarms,
    staff,
    tenancy,
)
