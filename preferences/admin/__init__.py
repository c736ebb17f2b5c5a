"""The console's pages for what people agreed to and where nothing may be sent."""

from __future__ import annotations

from preferences.admin import consents, suppressions  # noqa: F401 - they register
