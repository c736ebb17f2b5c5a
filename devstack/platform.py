"""The whole platform on this machine: stack, sample data, web, consumers, scheduler."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devstack.processes import Crew, crew, run
from devstack.programs import DevstackError
from devstack.servers import free_port
from devstack.stack import running_stack, write_private

MANAGE = (sys.executable, "manage.py")
BIN = Path(sys.executable).parent
START_SECONDS = 60.0
# A proxy that the environment names is not for this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What `manage.py load_sample --json` printed, now or at its first run."""

    tenant: str
    api_key: str
    test_key: str
    staff: dict[str, str]
    users: list[str]
    templates: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A running platform and how to reach it."""

    url: str
    sample: Sample
    crew: Crew
    environment: Mapping[str, str]

    def call(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        """Call the API with the sample's key."""
        request = urllib.request.Request(  # noqa: S310 - our own http URL
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.sample.api_key}",
                "Content-Type": "application/json",
            },
        )
        try:
            with _OPENER.open(request, timeout=30) as answer:
                content: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                problem = refused.read().decode(errors="replace")
            raise DevstackError(f"{method} {path}: {refused.code} {problem}") from None
        return content


@contextmanager
def running_platform(
    folder: Path,
    *,
    durable: bool,
    transport: str,
    settings: Mapping[str, str],
    preferred_port: int = 0,
) -> Iterator[Platform]:
    """Run everything on a folder; yield when every process is ready."""
    with (
        running_stack(folder, durable=durable) as servers,
        _running_transport(folder, transport) as broker,
    ):
        port = free_port(preferred=preferred_port)
        url = f"http://127.0.0.1:{port}"
        known = {**servers, **broker, **settings}
        run([*MANAGE, "migrate", "--database", "owner", "--verbosity", "0"], known)
        # From here on nobody needs the owner's rights.
        runtime = {**known, "DATABASE_OWNER_URL": ""}
        sample = _load_sample(folder / "sample.json", runtime)
        with crew(folder=folder, environment=runtime) as hired:
            if broker:
                _declare_topics(runtime)
                ready = _start_relay(hired)
            else:
                ready = []
            ready += [*_start_web(hired, port), *_start_consumers(hired)]
            _start_scheduler(hired)
            hired.wait_until(
                lambda: all(map(_answers, ready)),
                seconds=START_SECONDS,
                what="web and consumers are ready",
            )
            yield Platform(url=url, sample=sample, crew=hired, environment=runtime)


@contextmanager
def _running_transport(folder: Path, transport: str) -> Iterator[dict[str, str]]:
    """Run what a transport needs beside PostgreSQL; yield the variables for it."""
    if transport == "postgres":
        yield {}
        return
    from devstack.kafka import running_kafka

    with running_kafka(folder) as broker:
        yield {"DELIVERY_TRANSPORT": transport, **broker.environment}


def _declare_topics(environment: Mapping[str, str]) -> None:
    one = ["--replication", "1", "--min-insync-replicas", "1", "--partitions", "2"]
    run([*MANAGE, "declare_topics", *one], environment)


def _start_relay(hired: Crew) -> list[str]:
    port = free_port()
    hired.start("relay", [*MANAGE, "relay_outbox", "--health-port", str(port)])
    return [f"http://127.0.0.1:{port}/readyz"]


def _start_web(hired: Crew, port: int) -> list[str]:
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-ws"]
    size = ["--workers", "1", "--blocking-threads", "64"]
    command = [str(BIN / "granian"), "--interface", "wsgi", *options, *size]
    hired.start("web", [*command, "config.wsgi:application"], DATABASE_POOL="true")
    return [f"http://127.0.0.1:{port}/readyz"]


def _start_consumers(hired: Crew) -> list[str]:
    ready = []
    for name, priorities in (
        ("consumer-high", ["high"]),
        ("consumer", ["normal", "low"]),
    ):
        port = free_port()
        classes = [word for key in priorities for word in ("--priority", key)]
        command = [*MANAGE, "consume_deliveries", *classes, "--health-port", str(port)]
        hired.start(name, command)
        ready.append(f"http://127.0.0.1:{port}/readyz")
    return ready


def _start_scheduler(hired: Crew) -> None:
    schedule = ["-B", "--schedule", str(hired.folder / "beat-schedule")]
    size = ["--concurrency", "1", "--without-gossip", "--without-mingle"]
    command = [str(BIN / "celery"), "-A", "config", "worker", *schedule, *size]
    hired.start("scheduler", command)


def _load_sample(path: Path, environment: Mapping[str, str]) -> Sample:
    # Keys and passwords are printed by the first run alone; we keep them.
    kept = json.loads(path.read_text()) if path.exists() else {}
    printed = json.loads(run([*MANAGE, "load_sample", "--json"], environment))
    known = {**kept, **{name: value for name, value in printed.items() if value}}
    if "api_key" not in known:
        raise DevstackError("the sample's keys were lost: start anew with `make clean`")
    write_private(path, json.dumps(known, indent=1))
    return Sample(**known)


def _answers(url: str) -> bool:
    try:
        with _OPENER.open(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:  # not yet listening, or 503
        return False
