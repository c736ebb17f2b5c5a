"""Give the tests a PostgreSQL and a Valkey where the environment names none.

A pytest plugin, loaded with `-p`: it must come before Django reads its settings.
"""

from __future__ import annotations

import atexit
import base64
import os
import secrets
import signal
from collections.abc import Generator
from contextlib import ExitStack

import pytest

from devstack.folders import throw_away_folder
from devstack.kafka import running_kafka
from devstack.stack import running_stack
from tests.judges import NEEDS_NODE

# Why a test is skipped that a mock broker cannot judge.
NEEDS_KAFKA = "needs Apache Kafka"
_NEEDS = {
    NEEDS_KAFKA: "APACHE KAFKA AND DID NOT RUN: install a JDK 17 with Maven, or Docker",
    NEEDS_NODE: "JUDGES OF OTHERS AND DID NOT RUN: install node and npm",
}

_running = ExitStack()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None]:
    if "DATABASE_URL" not in os.environ:
        _start_stack()
    if "KAFKA_BOOTSTRAP_SERVERS" not in os.environ:
        _start_broker()
    for name, value in _throw_away_secrets().items():
        os.environ.setdefault(name, value)
    # Runs share a Valkey where the environment names one.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    os.environ["CACHE_KEY_PREFIX"] = f"test-{os.getpid()}-{worker}"
    # One process stands for many where tests race.
    os.environ["SUBMISSIONS_UNDER_WAY"] = "1000"
    # Tests of quiet hours look at their end; those of the spread set it.
    os.environ["QUIET_HOURS_SPREAD_SECONDS"] = "0"
    yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what was left untested for want of another program."""
    skipped = terminalreporter.stats.get("skipped", [])
    for reason, told in _NEEDS.items():
        if missed := [each for each in skipped if reason in str(each.longrepr)]:
            terminalreporter.write_line(
                f"{len(missed)} TESTS NEED {told}", red=True, bold=True
            )


def pytest_unconfigure() -> None:
    _running.close()


def _start_stack() -> None:
    # Only in the controller: xdist's workers inherit its environment.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    atexit.register(_running.close)  # a wrong option ends us before the other hook
    folder = _running.enter_context(throw_away_folder())
    os.environ.update(_running.enter_context(running_stack(folder, durable=False)))


def _start_broker() -> None:
    folder = _running.enter_context(throw_away_folder())
    broker = _running.enter_context(running_kafka(folder))
    os.environ.update(broker.environment)


def _throw_away_secrets() -> dict[str, str]:
    return {
        "SECRET_KEY": secrets.token_urlsafe(50),
        "SEALING_KEYS": "1:" + base64.b64encode(secrets.token_bytes(32)).decode(),
        "USER_TOKEN_SECRETS": secrets.token_urlsafe(50),
        "HTTPS": "false",
    }
