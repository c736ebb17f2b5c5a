"""The platform's own processes: start them, watch them, stop them and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from devstack.folders import CLONE
from devstack.programs import DevstackError
from devstack.servers import log_tail, open_log

STOP_SECONDS = 20.0


class DeadlineMissed(DevstackError):
    """A condition did not come true in time."""


class Crew:
    """Child processes, each in a process group and with a log of its own."""

    def __init__(self, *, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._environment = {**os.environ, **environment}
        self._members: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self, name: str, command: Sequence[str], **environment: str
    ) -> subprocess.Popen[bytes]:
        with open_log(self.log(name)) as log:
            member = subprocess.Popen(
                command,
                cwd=CLONE,
                env={**self._environment, "ROLE_NAME": name, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                umask=0o077,
                # Ctrl-C reaches us alone, and a member's own children die with it.
                start_new_session=True,
            )
        self._members[name] = member
        return member

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def check(self) -> None:
        """Raise, with its log's tail, when a member has ended."""
        for name, member in self._members.items():
            if member.poll() is not None:
                raise DevstackError(
                    f"{name} ended with code {member.returncode}:\n"
                    f"{log_tail(self.log(name))}"
                )

    def wait_until(
        self, condition: Callable[[], bool], *, seconds: float, what: str
    ) -> None:
        """Wait for a condition while every member lives."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.check()
            if time.monotonic() > deadline:
                raise DeadlineMissed(f"not within {seconds:.0f} s: {what}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Let every member finish what it holds, and end what does not."""
        for member in self._members.values():
            _signal_group(member, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for member in self._members.values():
            with suppress(subprocess.TimeoutExpired):
                member.wait(timeout=max(0.0, deadline - time.monotonic()))
            _signal_group(member, signal.SIGKILL)
            member.wait()


@contextmanager
def crew(*, folder: Path, environment: Mapping[str, str]) -> Iterator[Crew]:
    """Yield a crew that is stopped afterwards."""
    hired = Crew(folder=folder, environment=environment)
    try:
        yield hired
    finally:
        hired.stop()


def run(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a command to its end; return what it printed."""
    done = subprocess.run(
        command,
        cwd=CLONE,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        told = f"{done.stdout}{done.stderr}".strip()
        raise DevstackError(f"{' '.join(command)} failed:\n{told}")
    return done.stdout


def _signal_group(member: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(member.pid, number)
