"""How the callers' own ids of people may look."""

from __future__ import annotations

import re

USER_ID = r"[A-Za-z0-9._:@-]{1,128}"
# For PostgreSQL, where `$` is the very end of a text.
USER_ID_PATTERN = f"^{USER_ID}$"
# For Python, where `$` would let a line break pass there.
WHOLE_USER_ID = rf"^{USER_ID}\Z"


class MalformedUserId(ValueError):
    """A user id is 1 to 128 characters out of A-Z a-z 0-9 . _ : @ -"""


def check_user_id(text: str) -> str:
    """Return the id; raise MalformedUserId if it is none."""
    if not re.fullmatch(USER_ID, text):
        raise MalformedUserId
    return text
