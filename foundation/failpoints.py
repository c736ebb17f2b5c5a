"""Named points at which a test makes a process die, stop or fail.

`NOTIFY_FAILPOINTS="consumer.after_call=kill@3,consumer.after_claim=stop"` acts from
the third pass of the first point and at the first of the second. Without the variable
a point costs one look-up in an empty dict. Names are listed here, so that a test can
tell a point that nothing exercises.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter

from django.db import OperationalError

NAMES = frozenset(
    {
        "acceptance.before_commit",
        "acceptance.after_commit",
        "consumer.after_claim",
        "consumer.after_call",
        "consumer.before_settle",
        "consumer.after_settle",
    }
)


class FailpointReached(Exception):
    """A test asked for a failure here."""


def _parse(text: str) -> dict[str, tuple[str, int]]:
    points: dict[str, tuple[str, int]] = {}
    for entry in filter(None, text.split(",")):
        name, _, act = entry.partition("=")
        action, _, count = act.partition("@")
        points[name] = (action, int(count or 1))
    return points


_POINTS = _parse(os.environ.get("NOTIFY_FAILPOINTS", ""))
_passes: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Do what the environment asks for at this point; nothing in production."""
    point = _POINTS.get(name)
    if point is None:
        return
    action, count = point
    _passes[name] += 1
    if _passes[name] < count:
        return
    match action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop" if _passes[name] == count:
            # Sent to the process, the signal may let this thread run on for a while.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        case "raise":
            raise FailpointReached(name)
        # As if the reply to what was committed just before were lost.
        case "away" if _passes[name] == count:
            raise OperationalError(name)
