"""The client's end of one HTTP/1.1 connection, as cheap as Python can have it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TypeAlias, cast

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)")
# The head comes in lower case, so that header names can be looked for.
OnAnswer: TypeAlias = Callable[["Connection", bytes, bytes], None]
OnLoss: TypeAlias = Callable[[str], None]


class Connection(asyncio.Protocol):
    """Keeps alive and has at most one request under way.

    `due` and `number` are its user's notes on that request.
    """

    def __init__(self, *, on_answer: OnAnswer, on_loss: OnLoss) -> None:
        self.due = 0.0
        self.number = 0
        self._on_answer = on_answer
        self._on_loss = on_loss
        self._transport: asyncio.Transport | None = None
        self._received = b""

    def send(self, request: bytes) -> None:
        if self._transport is None:
            raise ConnectionError("not connected")
        self._transport.write(request)

    def close(self) -> None:
        if self._transport is not None:
            self._on_loss = lambda reason: None
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not one

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_loss(f"the server closed a connection: {exc or 'end of file'}")

    def data_received(self, data: bytes) -> None:
        received = self._received + data if self._received else data
        end = received.find(b"\r\n\r\n")
        if end < 0:
            self._received = received
            return
        head = received[:end].lower()
        length = _LENGTH.search(head)
        if length is None:
            self._on_loss(f"an answer without a length: {head!r}")
            return
        body = received[end + 4 :]
        if len(body) < int(length[1]):
            self._received = received
            return
        self._received = b""
        self._on_answer(self, head, body)
