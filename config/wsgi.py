"""The web process: `granian --interface wsgi config.wsgi:application`."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from foundation.garbage import spare_what_is_loaded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django = get_wsgi_application()

from config.crowd import refuse_a_crowd  # noqa: E402 - needs Django to be set up

application = refuse_a_crowd(django)
# Django would load them at the first request.
get_resolver().url_patterns  # noqa: B018
spare_what_is_loaded()
