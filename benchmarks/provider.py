"""The provider stub of a run: its process, and what it received."""

from __future__ import annotations

import sys
import urllib.request
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from devstack.processes import Crew
from devstack.servers import free_port
from foundation.ids import parse_public_id

_START_SECONDS = 30.0
# A proxy that the environment names is not for this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Call(NamedTuple):
    """One call; `at` in seconds of this machine's monotonic clock; `status` is 0
    where it got no answer."""

    delivery_id: UUID
    at: float
    status: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Where it listens, and who it is."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/messages"

    def take_received(self) -> list[UUID]:
        """Return the deliveries of the calls since it was last asked."""
        return [call.delivery_id for call in self.take_calls()]

    def take_calls(self) -> list[Call]:
        """Return the calls since it was last asked."""
        calls = []
        for line in fetch(self.port, "/messages/received").splitlines():
            delivery, at, status = line.split()
            identifier = parse_public_id("dlv", delivery)
            calls.append(Call(identifier, float(at), int(status)))
        return calls

    def behave(
        self, *, latency: float = 0.0, capacity: float = 0.0, hangs: bool = False
    ) -> None:
        """Answer so from now on; see the stub."""
        asked = f"latency={latency}&capacity={capacity}&hangs={int(hangs)}"
        fetch(self.port, f"/messages/behave?{asked}")


def fetch(port: int, path: str) -> str:
    """Get what a process of this machine tells over HTTP."""
    with _OPENER.open(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def start_provider(crew: Crew, name: str = "provider") -> Provider:
    """Start one and return when it answers."""
    port = free_port()
    process = crew.start(
        name, [sys.executable, "-m", "benchmarks.provider_stub", str(port)]
    )
    provider = Provider(port=port, pid=process.pid)
    crew.wait_until(
        lambda: _answers(provider), seconds=_START_SECONDS, what="the stub answers"
    )
    return provider


def _answers(provider: Provider) -> bool:
    try:
        return provider.take_received() == []
    except OSError:
        return False
