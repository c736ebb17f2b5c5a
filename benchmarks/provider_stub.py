"""A provider that answers at once and remembers what it was sent.

A process of its own: `python -m benchmarks.provider_stub PORT`. Any POST is a message
in the words of providers.http.HttpAdapter; GET /received lists the ids, each with the
monotonic time when it came, and forgets them.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from typing import cast

import uvloop

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ID = re.compile(rb'"id": ?"(dlv_[^"]+)"')
_received: list[tuple[bytes, float]] = []


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
            head, body = request
            if self._transport is not None:
                self._transport.write(_answer(head, body))

    def _next_request(self) -> tuple[bytes, bytes] | None:
        head, end, rest = self._unread.partition(b"\r\n\r\n")
        if not end:
            return None
        length = int(found[1]) if (found := _LENGTH.search(head)) else 0
        if len(rest) < length:
            return None
        self._unread = rest[length:]
        return head, rest[:length]


def _answer(head: bytes, body: bytes) -> bytes:
    if head.startswith(b"GET"):
        listed = b"\n".join(b"%s %.6f" % call for call in _received)
        _received.clear()
        return _written(b"text/plain", listed)
    found = _ID.search(body)
    identifier = found[1] if found else b""
    _received.append((identifier, time.monotonic()))
    return _written(b"application/json", b'{"id":"stub-%s"}' % identifier)


def _written(kind: bytes, content: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (
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
