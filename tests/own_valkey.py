"""A Valkey of a test's own, and what may become of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from uuid import uuid4

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Disconnected
from redis.retry import Retry

from devstack.folders import throw_away_folder
from devstack.programs import server_account
from devstack.valkey import running_valkey

PAUSE_SECONDS = 1.5


@pytest.fixture
def valkey() -> Iterator[Redis]:
    """Run a server of the test's own; a killed one stays away."""
    password = uuid4().hex
    with (
        throw_away_folder() as folder,
        running_valkey(
            folder=folder, account=server_account(), password=password
        ) as port,
        Redis(
            port=port,
            password=password,
            socket_timeout=10,
            retry=Retry(NoBackoff(), 0),  # or killing it would take four seconds
        ) as client,
    ):
        yield client


def url_of(valkey: Redis) -> str:
    known = valkey.get_connection_kwargs()
    return f"redis://:{known['password']}@127.0.0.1:{known['port']}/0"


def kill(valkey: Redis) -> None:
    with suppress(Disconnected):
        valkey.execute_command("SHUTDOWN", "NOSAVE", "NOW")


def pause(valkey: Redis) -> None:
    """Have nobody answered for a while; it ends by itself."""
    valkey.client_pause(int(PAUSE_SECONDS * 1000), all=True)


def make_read_only(valkey: Redis) -> None:
    valkey.replicaof("127.0.0.1", 1)


def fill(valkey: Redis) -> None:
    valkey.config_set("maxmemory", "1")


def flush(valkey: Redis) -> None:
    valkey.flushall()


def heal(valkey: Redis) -> None:
    valkey.replicaof("NO", "ONE")
    valkey.config_set("maxmemory", "256mb")


def nothing(valkey: Redis) -> None:
    pass
