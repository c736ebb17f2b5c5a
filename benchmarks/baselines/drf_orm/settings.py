"""The platform's settings, middleware and pool, with this endpoint's URLs."""

from __future__ import annotations

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS, REST_FRAMEWORK

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks.baselines.drf_orm"]
ROOT_URLCONF = "benchmarks.baselines.drf_orm.urls"
REST_FRAMEWORK = {
    **REST_FRAMEWORK,
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
}
