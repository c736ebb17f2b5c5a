"""The requests of the accept benchmark: one template, many people, a key each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

CHANNELS = ("email", "sms", "in_app")
_KEY_DIGITS = 10
_USER_DIGITS = 6


def user_id(number: int) -> str:
    """Return the id of the people that benchmarks.people makes."""
    return f"usr_{number:0{_USER_DIGITS}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submissions:
    """Writes POST /v1/notifications; keys begin with a prefix of the run's own."""

    head: bytes
    key: bytes
    rest: bytes
    people: int

    def encode(self, number: int) -> bytes:
        """Write one request; everything but key and person is ready."""
        return (
            b'%s{"idempotency_key":"%s%010d","recipient":{"user_id":"usr_%06d"}%s'
            % (
                self.head,
                self.key,
                number,
                number % self.people,
                self.rest,
            )
        )


def submissions(
    *,
    port: int,
    api_key: str,
    key: str,
    template: dict[str, Any],
    people: int,
    **changes: Any,
) -> Submissions:
    """Prepare requests for one server and one run; `changes` are fields of the body."""
    rest = json.dumps(
        {
            "template": {"name": template["name"], "version": template["version"]},
            "variables": template["variables"],
            "channels": CHANNELS,
            **changes,
        },
        separators=(",", ":"),
    ).encode()
    unfinished = Submissions(
        head=b"", key=key.encode(), rest=b"," + rest[1:], people=people
    )
    head = (
        f"POST /v1/notifications HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Authorization: Bearer {api_key}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(unfinished.encode(0))}\r\n\r\n"
    )
    return Submissions(
        head=head.encode(),
        key=unfinished.key,
        rest=unfinished.rest,
        people=people,
    )
