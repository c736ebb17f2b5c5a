"""The servers under test: granian, each with an identity that nobody else has."""

from __future__ import annotations

import secrets
import urllib.request
from dataclasses import dataclass
from http.client import HTTPMessage

from benchmarks.failure import BenchmarkFailed
from devstack.platform import BIN
from devstack.processes import Crew
from devstack.servers import free_port

START_SECONDS = 60.0
HEADER = "X-Benchmark-Server"
# A proxy that the environment names is not for this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many processes serve, and with how many threads and connections each."""

    workers: int
    threads: int
    connections: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server of this run: where it listens, how it is known, who it is."""

    name: str
    port: int
    identity: str
    pid: int


def start_server(crew: Crew, *, name: str, settings_module: str, size: Size) -> Server:
    """Start one and return when it answers as itself."""
    port, identity = free_port(), secrets.token_hex(8)
    process = crew.start(
        name,
        [
            str(BIN / "granian"),
            *("--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)),
            *("--http", "1", "--no-ws", "--workers", str(size.workers)),
            *("--blocking-threads", str(size.threads)),
            "benchmarks.wsgi:application",
        ],
        DJANGO_SETTINGS_MODULE=settings_module,
        BENCHMARK_IDENTITY=identity,
        DATABASE_POOL="true",
        DATABASE_POOL_SIZE=str(size.connections or size.threads),
    )
    server = Server(name=name, port=port, identity=identity, pid=process.pid)
    crew.wait_until(
        lambda: _is_ready(server), seconds=START_SECONDS, what=f"{name} is ready"
    )
    return server


def _is_ready(server: Server) -> bool:
    try:
        with _OPENER.open(f"http://127.0.0.1:{server.port}/readyz", timeout=2) as ready:
            _check_identity(server, ready.headers)
            return bool(ready.status == 200)
    except OSError:  # not yet listening, or 503
        return False


def _check_identity(server: Server, headers: HTTPMessage) -> None:
    known = headers.get(HEADER, "")
    if not known.startswith(f"{server.identity}-"):
        raise BenchmarkFailed(f"another server answers on {server.port}: {known!r}")
