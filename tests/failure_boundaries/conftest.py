"""A broker that a test alone may kill, the platform's processes, ways to race."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from devstack.folders import throw_away_folder
from devstack.kafka import bootstrap_of, known_jars, start_broker
from devstack.servers import free_port, stop
from tests.acme import ROOT
from tests.kafka import Kafka

Start = Callable[..., subprocess.Popen[bytes]]


class OwnBroker:
    """A broker that keeps its port and its data over being killed."""

    def __init__(self, home: Path) -> None:
        self._home, self._port = home, free_port()
        self.start()

    @property
    def bootstrap(self) -> str:
        return bootstrap_of(self._home)

    def start(self) -> None:
        """Return when its port answers."""
        self._process = start_broker(self._home, jars=known_jars(), port=self._port)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        stop(self._process, signals=(signal.SIGTERM,))


@pytest.fixture
def own_broker(settings: Settings) -> Iterator[OwnBroker]:
    with throw_away_folder() as folder:
        home = folder / "kafka"
        home.mkdir()
        broker = OwnBroker(home)
        settings.KAFKA_BOOTSTRAP_SERVERS = broker.bootstrap
        settings.DELIVERY_TRANSPORT = "kafka"
        try:
            Kafka(prefix="").declare()
            yield broker
        finally:
            broker.close()


@pytest.fixture
def start(database_env: Mapping[str, str], tmp_path: Path) -> Iterator[Start]:
    """Start a management command as a process of its own, with a log in the folder."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        with (tmp_path / f"{len(started)}-{arguments[0]}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "manage.py", *arguments],
                cwd=ROOT,
                env={**database_env, "DELIVERY_TRANSPORT": "kafka", **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def retry_soon(settings: Settings) -> None:
    """Let races meet deliveries that wait for their retry, and retries."""
    soon = timedelta(milliseconds=200)
    policy = {**settings.RETRY_POLICIES["transactional"], "base": soon, "cap": soon}
    settings.RETRY_POLICIES = {**settings.RETRY_POLICIES, "transactional": policy}


@pytest.fixture(params=["poll", "record"])
def claim_by(request: pytest.FixtureRequest, settings: Settings) -> str:
    """Choose between the two statements that claim."""
    if request.param == "record":
        settings.DELIVERY_TRANSPORTS = {"relayed": "tests.racing.RelayedTransport"}
        settings.DELIVERY_TRANSPORT = "relayed"
    chosen: str = request.param
    return chosen
