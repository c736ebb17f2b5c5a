"""Start, await and stop one server process in a folder of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from devstack.programs import Account, DevstackError

START_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What to run; `is_ready` tells whether it answers already."""

    name: str
    command: Sequence[str | Path]
    home: Path
    log: Path
    account: Account
    is_ready: Callable[[], bool]
    environment: Mapping[str, str]
    stdin: bytes = b""


def start(launch: Launch) -> subprocess.Popen[bytes]:
    """Start a server and return when it answers; raise with its log's tail."""
    with open_log(launch.log) as log:
        process = subprocess.Popen(
            launch.command,
            **launch.account.popen_options,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=launch.home,
            env=launch.environment,
            umask=0o077,
            # Ctrl-C is for us: we stop the servers last, after their clients.
            start_new_session=True,
        )
    with ExitStack() as failure:
        failure.callback(stop, process, signals=(signal.SIGTERM,))
        _feed(process, launch.stdin)
        _await_ready(process, launch)
        failure.pop_all()
    return process


def _feed(process: subprocess.Popen[bytes], content: bytes) -> None:
    if process.stdin is None:
        return
    try:
        process.stdin.write(content)
        process.stdin.close()
    except BrokenPipeError:
        return  # it died at once: its log says why


def _await_ready(process: subprocess.Popen[bytes], launch: Launch) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if launch.is_ready():
            return
        time.sleep(0.02)
    state = "does not answer" if process.poll() is None else "ended at once"
    raise DevstackError(f"{launch.name} {state}:\n{log_tail(launch.log)}")


def stop(
    process: subprocess.Popen[bytes], *, signals: Sequence[signal.Signals]
) -> None:
    """Send the signals one after the other, the last of all SIGKILL, until it ends."""
    for number in signals:
        if process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            continue
    if process.poll() is None:
        process.kill()
        process.wait()


def free_port(*, preferred: int = 0) -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", preferred))
        except OSError:
            probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def open_log(path: Path) -> IO[bytes]:
    """Open a new log that we alone can read."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    return path.open("wb")


def log_tail(log: Path, *, lines: int = 25) -> str:
    """Return a log's last lines."""
    if not log.exists():
        return f"({log} was not written)"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
