"""Find and stop what a killed run of this stack left behind.

A pid in a file may be somebody else's by now; what a process carries is its own. The
servers work in folders of ours, and every other child has the folder's name in its
environment. Where there is no /proc (macOS) nothing is found and nothing is stopped.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from devstack.programs import DevstackError

MARKER = "NOTIFICATIONS_DEVSTACK"
SERVERS = {"postgres", "valkey-server"}
KILL_AFTER_SECONDS = 10.0


def stop_leftovers(folder: Path) -> None:
    """Stop them, clients before servers. Call it with the folder's lock in hand."""
    _stop_all(lambda: _find(folder, _is_marked))
    _stop_all(lambda: _find(folder, _is_server))
    if Path("/proc/self").exists():
        # None runs: a stale pid that somebody else has by now must not say so.
        (folder / "postgres" / "postmaster.pid").unlink(missing_ok=True)


def _stop_all(find: Callable[[], list[int]]) -> None:
    started = time.monotonic()
    while left := find():
        waited = time.monotonic() - started
        if waited > KILL_AFTER_SECONDS + 5:
            raise DevstackError(f"processes of an earlier run do not stop: {left}")
        for pid in left:
            with suppress(ProcessLookupError):
                # SIGINT is PostgreSQL's "end all sessions, write everything, stop".
                late = waited > KILL_AFTER_SECONDS
                os.kill(pid, signal.SIGKILL if late else signal.SIGINT)
        time.sleep(0.1)


def _find(folder: Path, is_ours: Callable[[Path, Path], bool]) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or it is another user's
            if is_ours(process, folder):
                found.append(int(process.name))
    return found


def _is_marked(process: Path, folder: Path) -> bool:
    marker = os.fsencode(f"{MARKER}={folder}")
    return marker in (process / "environ").read_bytes().split(b"\0")


def _is_server(process: Path, folder: Path) -> bool:
    works_here = (process / "cwd").readlink().parent == folder
    return works_here and (process / "exe").readlink().name in SERVERS
