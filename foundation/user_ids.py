"""How the callers' own ids of people may look."""

from __future__ import annotations

import re

USER_ID_PATTERN = r"^[A-Za-z0-9._:@-]{1,128}$"
_USER_ID = re.compile(r"[A-Za-z0-9._:@-]{1,128}")


class MalformedUserId(ValueError):
    """A user id is 1 to 128 characters out of A-Z a-z 0-9 . _ : @ -"""


def check_user_id(text: str) -> str:
    """Return the id; raise MalformedUserId if it is none."""
    if not _USER_ID.fullmatch(text):
        raise MalformedUserId
    return text
