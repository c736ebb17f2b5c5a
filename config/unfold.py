"""How the console looks."""

from __future__ import annotations

from typing import Any

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Notifications",
    "SITE_HEADER": "Notifications",
    "SITE_SUBHEADER": "Support console",
    "SITE_SYMBOL": "notifications",
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": "config.admin_site.favicon",
        }
    ],
    "SITE_URL": None,
    # The audit trail says who did what; Django's own history would say it again.
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": ["config.admin_site.stylesheet"],
    "SIDEBAR": {"navigation": "config.admin_site.navigation"},
}
FORMAT_MODULE_PATH = "config.formats"
