"""What the long-running processes share: how they stop, what they are told.

Asked by a signal, such a process finishes what it holds.
"""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from django.conf import settings

from foundation.health import serve_health
from tenants.categories import Priority

_PRIORITIES = {priority.key: priority for priority in Priority}


class Stop:
    """A request to stop that every loop of the process can wait on."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        """Ask every loop to finish; asking twice changes nothing."""
        self._asked.set()

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    def wait(self, seconds: float) -> None:
        """Rest, but no longer than until asked."""
        self._asked.wait(seconds)

    def listen(self) -> None:
        """Take SIGTERM and SIGINT as the request."""
        signal.signal(signal.SIGTERM, self._take_signal)
        signal.signal(signal.SIGINT, self._take_signal)

    def _take_signal(self, number: int, frame: FrameType | None) -> None:
        self.ask()


def add_worker_options(parser: ArgumentParser) -> None:
    """Let operators say which classes a process serves and where its health is told."""
    parser.add_argument("--priority", action="append", choices=_PRIORITIES)
    parser.add_argument(
        "--health-port", type=int, help="serve /livez, /readyz, /metrics"
    )


def chosen_priorities(options: Mapping[str, Any]) -> tuple[Priority, ...]:
    """Return the classes that were named, or all of them."""
    return tuple(_PRIORITIES[key] for key in options["priority"] or _PRIORITIES)


@contextmanager
def telling_health(
    options: Mapping[str, Any], *, role: str, ready: Callable[[], bool]
) -> Iterator[None]:
    """Serve health and measurements meanwhile, where a port was named."""
    port = options["health_port"]
    if port is None:
        yield
        return
    with serve_health(role=role, host=settings.HEALTH_HOST, port=port, ready=ready):
        yield
