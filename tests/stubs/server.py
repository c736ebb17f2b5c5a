"""A scripted peer on a thread and event loop of its own, for tests of any kind."""

from __future__ import annotations

import asyncio
import ssl
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Self, TypeVar


@dataclass(frozen=True, slots=True)
class Hang:
    """Say nothing more, and keep the connection."""


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection without a word."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Say exactly these bytes, then close."""

    content: bytes


class Disconnected(Exception):
    """The conversation is over."""


Step = TypeVar("Step")


class Script(Generic[Step]):
    """What happens at a named stage: first the queued steps, then the standing one."""

    def __init__(self) -> None:
        self._queued: dict[str, deque[Step]] = {}
        self._standing: dict[str, Step] = {}

    def queue(self, stage: str, *steps: Step) -> None:
        self._queued.setdefault(stage, deque()).extend(steps)

    def always(self, stage: str, step: Step) -> None:
        self._standing[stage] = step

    def next(self, stage: str) -> Step | None:
        queued = self._queued.get(stage)
        return queued.popleft() if queued else self._standing.get(stage)


class StubServer(ABC):
    """Listens on a free loopback port; stop() and start() keep the port."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self.port = 0
        self.connections = 0
        self._tls = tls
        self._loop: asyncio.AbstractEventLoop | None = None
        self._talks: set[asyncio.Task[None]] = set()
        self._changed = threading.Condition()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def start(self) -> None:
        self._loop = loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), loop).result(10)

    def stop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._hang_up(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join(10)
        loop.close()

    def wait_until(self, condition: Callable[[], bool], seconds: float = 10) -> None:
        """Return when what was recorded fulfils the condition; fail after a while."""
        with self._changed:
            assert self._changed.wait_for(condition, seconds), "it did not happen"

    @property
    def open_connections(self) -> int:
        return len(self._talks)

    @abstractmethod
    async def talk(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Hold one conversation; returning or raising Disconnected closes it."""

    def note(self, record: Callable[[], object]) -> None:
        """Change what tests look at, and wake those who wait for it."""
        with self._changed:
            record()
            self._changed.notify_all()

    async def perform(self, step: object, writer: asyncio.StreamWriter) -> None:
        """Play a Hang, Close or Raw."""
        if isinstance(step, Hang):
            await asyncio.Event().wait()
        if isinstance(step, Raw):
            writer.write(step.content)
            await writer.drain()
        raise Disconnected

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", self.port, ssl=self._tls
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections += 1
        self.note(lambda: self._talks.add(task))
        try:
            await self.talk(reader, writer)
        except (Disconnected, OSError, asyncio.IncompleteReadError, ValueError):
            pass
        except asyncio.CancelledError:
            task.uncancel()
        finally:
            writer.close()
            # A peer that just went away never says goodbye to a TLS server.
            with suppress(OSError, asyncio.CancelledError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()
            writer.transport.abort()
            self.note(lambda: self._talks.discard(task))

    async def _hang_up(self) -> None:
        self._server.close()
        # A connection that has just been accepted takes a few rounds to begin its talk.
        for _ in range(5):
            await asyncio.sleep(0)
        talks = list(self._talks)
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        await self._server.wait_closed()
