"""The console's pages to write templates, approve their versions and retire them."""

from __future__ import annotations

from templates.admin import contents, layouts, library, versions  # noqa: F401 - they register
