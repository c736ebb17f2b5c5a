"""The one reader of the environment; a secret may also come from NAME_FILE."""

from __future__ import annotations

import environ

env = environ.FileAwareEnv()
