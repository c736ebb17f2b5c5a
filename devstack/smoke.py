"""`make smoke`: fresh data, 200 notifications, faults on the way, and nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import psycopg

from devstack.demo import CHANNELS, sample_body
from devstack.folders import CLONE, throw_away_folder
from devstack.platform import MANAGE, Platform, running_platform
from devstack.processes import DeadlineMissed
from devstack.programs import DevstackError

NOTIFICATIONS = 200
TRANSIENT_RATE = 0.1
DEADLINE_SECONDS = 240.0
PRIORITIES = ["high", "normal", "low"]
UNFINISHED = ("pending", "sending", "parked")


def smoke(transport: str) -> int:
    """Run the check; print its result as the last line; return the exit code."""
    print("Starting everything on fresh data …", flush=True)
    settings = {"SANDBOX_TRANSIENT_RATE": str(TRANSIENT_RATE)}
    with (
        throw_away_folder() as folder,
        running_platform(
            folder, durable=False, transport=transport, settings=settings
        ) as platform,
    ):
        result = _check(platform)
    print(json.dumps(result, separators=(",", ":")))
    return 1 if result["unfinished"] or result["violations"] else 0


def _check(platform: Platform) -> dict[str, Any]:
    started = time.monotonic()
    for number in range(NOTIFICATIONS):
        platform.call("POST", "/v1/notifications", _body(platform, number))
    print(f"accepted {NOTIFICATIONS}, waiting for the end …", flush=True)
    try:
        platform.crew.wait_until(
            lambda: _unfinished(_statuses(platform)) == 0,
            seconds=DEADLINE_SECONDS,
            what="every delivery finishes",
        )
    except DeadlineMissed as late:
        print(late, file=sys.stderr)
    seconds = time.monotonic() - started
    statuses = _statuses(platform)
    return {
        "transport": platform.environment.get("DELIVERY_TRANSPORT", "postgres"),
        "accepted": NOTIFICATIONS,
        "deliveries": statuses.total(),
        "sent": statuses["sent"] + statuses["delivered"],
        "failed": statuses["failed"] + statuses["undelivered"],
        "dead": statuses["dead"],
        "unfinished": _unfinished(statuses),
        "violations": _violations(platform),
        "seconds": round(seconds, 1),
    }


def _body(platform: Platform, number: int) -> dict[str, Any]:
    """Take turns at users, classes, and one, two, three or all channels."""
    users = platform.sample.users
    chosen = [CHANNELS[(number + step) % 4] for step in range(number // 4 % 4 + 1)]
    return {
        **sample_body(platform, user_id=users[number % len(users)]),
        "channels": chosen,
        "priority": PRIORITIES[number % 3],
    }


def _statuses(platform: Platform) -> Counter[str]:
    with psycopg.connect(platform.environment["DATABASE_URL"]) as connection:
        rows = connection.execute("SELECT status, count(*) FROM delivery GROUP BY 1")
        return Counter(dict(rows.fetchall()))


def _unfinished(statuses: Counter[str]) -> int:
    return sum(statuses[status] for status in UNFINISHED)


def _violations(platform: Platform) -> int:
    done = subprocess.run(
        [*MANAGE, "check_invariants", "--json"],
        cwd=CLONE,
        env={**os.environ, **platform.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found: list[object] = json.loads(done.stdout)["violations"]
    except json.JSONDecodeError:
        raise DevstackError(f"check_invariants failed:\n{done.stderr}") from None
    for violation in found:
        print(violation, file=sys.stderr)
    return len(found)
