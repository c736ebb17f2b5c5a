"""Moments as logs and the API write them: they are compared with each other."""

from __future__ import annotations

DATETIME_FORMAT = "Y-m-d H:i:s"
