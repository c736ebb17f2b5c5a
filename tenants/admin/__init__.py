"""The console's pages for tenants, keys and staff, and what all pages share."""

from __future__ import annotations

from tenants.admin import api_keys, staff, tenancy  # noqa: F401 - they register
