"""The baselines as processes: what is run once, before a backlog, and for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from devstack.platform import MANAGE

Command = tuple[str, ...]

_PACKAGE = "benchmarks.baselines.task_per_delivery"
_ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": f"{_PACKAGE}.settings",
    "LOG_LEVEL": "WARNING",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One way of delivering."""

    name: str
    # Run once, before anything else; these know the owner's DATABASE_OWNER_URL.
    prepare: tuple[Command, ...] = ()
    # Run when a backlog was accepted, before the clock starts.
    queue: tuple[Command, ...] = ()
    # Run until they are told to stop, by SIGTERM.
    workers: tuple[Command, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def _celery(
    pool: str,
    *,
    processes: int = 1,
    concurrency: int,
    prefetch: int,
    **environment: str,
) -> Side:
    worker = (
        *(sys.executable, "-m", "celery", "--app", f"{_PACKAGE}.celery_app", "worker"),
        *("--pool", pool, "--concurrency", str(concurrency)),
        *("--prefetch-multiplier", str(prefetch), "--loglevel", "WARNING"),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    )
    return Side(
        name=f"celery-{pool}-{processes}x{concurrency}",
        queue=((sys.executable, "-m", f"{_PACKAGE}.celery_app"),),
        workers=(worker,) * processes,
        environment={**_ENVIRONMENT, **environment},
    )


def _procrastinate(*, processes: int, concurrency: int, delete_jobs: str) -> Side:
    return Side(
        name=f"procrastinate-{processes}x{concurrency}-{delete_jobs}",
        prepare=(_running("make_schema()"),),
        queue=(_running("queue()"),),
        workers=(
            _running(f"work(concurrency={concurrency}, delete_jobs={delete_jobs!r})"),
        )
        * processes,
        environment=_ENVIRONMENT,
    )


def _running(call: str) -> Command:
    name = call.partition("(")[0]
    line = f"from {_PACKAGE}.procrastinate_running import {name}; {call}"
    return (*MANAGE, "shell", "--no-imports", "--command", line)


CELERY = (
    _celery("prefork", concurrency=2, prefetch=4),
    _celery("prefork", concurrency=4, prefetch=4),
    _celery("threads", concurrency=16, prefetch=4),
    _celery("threads", processes=2, concurrency=8, prefetch=4),
    _celery(
        "gevent",
        concurrency=16,
        prefetch=4,
        # A greenlet has connections of its own, and lives for one task.
        DATABASE_POOL="true",
        DATABASE_POOL_SIZE="16",
    ),
)
PROCRASTINATE = (
    _procrastinate(processes=2, concurrency=8, delete_jobs="successful"),
    _procrastinate(processes=4, concurrency=8, delete_jobs="successful"),
    _procrastinate(processes=4, concurrency=8, delete_jobs="never"),
)
