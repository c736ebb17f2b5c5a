"""Where figures were taken: machine, versions, settings, commit."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from importlib.metadata import version
from typing import Any

import psycopg

from benchmarks.failure import BenchmarkFailed
from devstack.folders import CLONE

QUIET_LOAD = 0.5
PACKAGES = (
    "confluent-kafka",
    "django",
    "djangorestframework",
    "granian",
    "msgspec",
    "orjson",
    "psycopg",
)
DURABLE = ("fsync", "synchronous_commit", "full_page_writes")
_CHANGED_SETTINGS = """
SELECT name, setting FROM pg_settings
 WHERE source NOT IN ('default', 'override', 'client')
   AND setting IS DISTINCT FROM boot_val
   AND name !~ '^(lc_|log_|default_text|data_dir|.*_file$|port$|listen_|unix_)'
 ORDER BY name
"""


def wait_until_quiet(*, seconds: float) -> None:
    """Wait for others' work to end; raise BenchmarkFailed if it does not.

    The load average trails by a minute: what ran just before is no reason to refuse.
    """
    deadline = time.monotonic() + seconds
    while os.getloadavg()[0] > QUIET_LOAD:
        if time.monotonic() > deadline:
            raise BenchmarkFailed(
                f"the load average is {os.getloadavg()[0]:.2f}, above {QUIET_LOAD}:"
                " something else is running (--any-load measures all the same)"
            )
        time.sleep(1)


def describe(database_url: str) -> dict[str, Any]:
    """Report the machine and the database; raise where the database is not durable."""
    with psycopg.connect(database_url) as connection:
        changed = connection.execute(_CHANGED_SETTINGS).fetchall()
        durability = {name: _show(connection, name) for name in DURABLE}
        checksums = _show(connection, "data_checksums")
        postgresql = _show(connection, "server_version")
    if set(durability.values()) != {"on"}:
        raise BenchmarkFailed(f"PostgreSQL is not durable: {durability}")
    return {
        "nproc": _processors(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "commit": _commit(),
        "versions": {
            "python": platform.python_version(),
            "postgresql": postgresql,
            **{package: version(package) for package in PACKAGES},
        },
        "postgresql": {**durability, "data_checksums": checksums, **dict(changed)},
    }


def _show(connection: psycopg.Connection, name: str) -> str:
    row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    return str(row[0]) if row else ""


def _processors() -> int:
    """Count the processors that we may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=CLONE,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"
