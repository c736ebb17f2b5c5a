"""The platform's settings with connections that outlive a task, and without quotas: a
task that asked for its own permit would only be slower."""

from __future__ import annotations

from config.settings import *  # noqa: F403
from config.settings import DATABASES, PROVIDERS

# A pool, where the environment asks for one, keeps them itself.
if "pool" not in DATABASES["default"]["OPTIONS"]:
    DATABASES["default"]["CONN_MAX_AGE"] = None
for _account in PROVIDERS.values():
    _account["RATE"] = None
