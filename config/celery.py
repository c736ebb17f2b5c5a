"""Celery, for maintenance and campaigns: `celery -A config worker`."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
app = Celery("notifications")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """Be connected: Celery then leaves the loggers as Django set them up."""
