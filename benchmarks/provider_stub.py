"""A provider that remembers what it was sent, and answers at once unless told else.

A process of its own: `python -m benchmarks.provider_stub PORT`. Any POST is a message
in the words of providers.http.HttpAdapter; GET /received lists the ids, each with the
monotonic time when it came and the status it got, and forgets them. GET /behave, with
`latency` (seconds), `hangs` (1: no answer at all) and `capacity` (calls a second, the
others get a 429; 0: any), says how it answers from then on.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qsl, urlsplit

import uvloop

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ID = re.compile(rb'"id": ?"(dlv_[^"]+)"')
_received: list[tuple[bytes, float, int]] = []
# A bucket of the capacity holds no more than so many seconds of it.
_BURST_SECONDS = 0.1
_STATUSES = {
    200: b"200 OK",
    429: b"429 Too Many Requests",
}


@dataclass
class _Behaviour:
    latency: float = 0.0
    hangs: bool = False
    capacity: float = 0.0
    free_from: float = 0.0

    def status(self, now: float) -> int:
        """Say what a call that comes now gets: 0 for no answer."""
        if self.hangs:
            return 0
        if not self.capacity:
            return 200
        free_from = max(self.free_from, now - _BURST_SECONDS)
        if free_from > now:
            return 429
        self.free_from = free_from + 1 / self.capacity
        return 200


_behaviour = _Behaviour()


class Provider(asyncio.Protocol):
    """One connection; requests come one after the other, in any number of pieces."""

    def __init__(self) -> None:
        self._unread = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        while (request := self._next_request()) is not None:
            self._answer(*request)

    def _answer(self, head: bytes, body: bytes) -> None:
        if self._transport is None:
            return
        if head.startswith(b"GET"):
            self._transport.write(_written(200, b"text/plain", _told(head)))
            return
        now = time.monotonic()
        status = _behaviour.status(now)
        identifier = found[1] if (found := _ID.search(body)) else b""
        _received.append((identifier, now, status))
        if not status:
            return
        content = b'{"id":"stub-%s"}' % identifier
        answer = _written(status, b"application/json", content)
        if not _behaviour.latency:
            self._transport.write(answer)
        else:
            loop = asyncio.get_running_loop()
            loop.call_later(_behaviour.latency, self._transport.write, answer)

    def _next_request(self) -> tuple[bytes, bytes] | None:
        head, end, rest = self._unread.partition(b"\r\n\r\n")
        if not end:
            return None
        length = int(found[1]) if (found := _LENGTH.search(head)) else 0
        if len(rest) < length:
            return None
        self._unread = rest[length:]
        return head, rest[:length]


def _told(head: bytes) -> bytes:
    """List what was received, or behave in another way."""
    asked = urlsplit(head.split(b" ", 2)[1].decode())
    if asked.path.endswith("/behave"):
        told = dict(parse_qsl(asked.query))
        _behaviour.latency = float(told.get("latency", 0))
        _behaviour.capacity = float(told.get("capacity", 0))
        _behaviour.hangs = told.get("hangs") == "1"
        return b""
    listed = b"\n".join(b"%s %.6f %d" % call for call in _received)
    _received.clear()
    return listed


def _written(status: int, kind: bytes, content: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (
        _STATUSES[status],
        kind,
        len(content),
        content,
    )


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(
        Provider, "127.0.0.1", port, backlog=1_024
    )
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
