"""How a long-running process stops: asked by a signal, it finishes what it holds."""

from __future__ import annotations

import signal
import threading
from types import FrameType


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
