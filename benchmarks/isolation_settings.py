"""The platform's settings with two accounts at providers of their own: one for e-mail,
and one for text messages that is going to be in trouble."""

from __future__ import annotations

from config.env import env
from config.settings import *  # noqa: F403
from config.settings import PROVIDER_ROUTES, PROVIDERS

RATE = env.float("ISOLATION_RATE", default=300.0)
TIMEOUT = 30.0
for _alias in ("healthy", "troubled"):
    PROVIDERS[_alias] = {
        "BACKEND": "providers.http.HttpAdapter",
        "OPTIONS": {
            "url": env.str(f"{_alias.upper()}_URL", default="http://127.0.0.1:1")
        },
        "RATE": RATE,
        "TIMEOUT": TIMEOUT,
    }
PROVIDER_ROUTES |= {"email": "healthy", "sms": "troubled"}
