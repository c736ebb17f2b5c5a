"""Reused SMTP connections, driven in steps so that the stage of a fault is known."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from aiosmtplib import (
    SMTP,
    SMTPDataError,
    SMTPException,
    SMTPResponse,
    SMTPResponseException,
)
from aiosmtplib.protocol import SMTPProtocol

from providers.email.letter import Letter

# Servers end a session after some messages (421); this stays below the usual hundred.
_LETTERS_PER_CONNECTION = 50
_LIVENESS_SECONDS = 1.0
_LINE_BREAK = re.compile(rb"\r\n|\r|\n")
_LEADING_DOT = re.compile(rb"(?m)^\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where to connect to, as whom, and how the connection is protected."""

    host: str
    port: int
    tls: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)


class SmtpConnection:
    """One connection, one letter at a time."""

    def __init__(self, endpoint: Endpoint, tls_context: ssl.SSLContext | None) -> None:
        self._client = SMTP(
            hostname=endpoint.host,
            port=endpoint.port,
            username=endpoint.username,
            password=endpoint.password,
            use_tls=endpoint.tls == "tls",
            start_tls=endpoint.tls == "starttls",
            tls_context=tls_context,
            # The default asks the resolver for a full name, which can take seconds.
            local_hostname=socket.gethostname(),
            timeout=None,
        )
        # There when it is open.
        self._protocol: SMTPProtocol
        self._writer: asyncio.StreamWriter
        self._letters = 0
        # A reply is outstanding: whatever is read next may belong to it.
        self._in_doubt = False

    @property
    def is_reusable(self) -> bool:
        """Whether another letter may follow on this connection."""
        return (
            self._client.is_connected
            and not self._in_doubt
            and self._letters < _LETTERS_PER_CONNECTION
        )

    async def open(self) -> None:
        """Connect, start TLS and log in."""
        await self._client.connect()
        protocol = self._client.protocol
        if protocol is None or protocol.transport is None:
            raise ConnectionResetError("connection lost")
        self._protocol = protocol
        transport = cast("asyncio.Transport", protocol.transport)
        # With no room to buffer, drain() returns when the kernel has it. Not high=0:
        # over TLS asyncio then also pauses at nothing, and drain() never returns.
        transport.set_write_buffer_limits(high=1, low=0)
        loop = asyncio.get_running_loop()
        # Kept as long as the connection: a collected writer closes its transport.
        self._writer = asyncio.StreamWriter(transport, protocol, None, loop)

    async def is_alive(self) -> bool:
        """Ask with RSET, which also forgets an envelope that was refused half-way."""
        self._in_doubt = True
        try:
            async with asyncio.timeout(_LIVENESS_SECONDS):
                await self._client.rset()
        except (SMTPException, OSError):
            return False
        self._in_doubt = False
        return True

    async def hand_over(self, letter: Letter) -> None:
        """Send a letter, the final dot last: while this raises, nothing is accepted."""
        self._letters += 1
        self._in_doubt = True
        try:
            await self._client.mail(letter.sender)
            await self._client.rcpt(letter.recipient)
            reply = await self._client.execute_command(b"DATA")
            if reply.code != 354:
                raise SMTPDataError(reply.code, reply.message)
        except SMTPResponseException as refusal:
            # A complete reply; -1 is aiosmtplib's code for a line that is none.
            self._in_doubt = refusal.code < 0
            raise
        self._writer.write(_stuffed(letter.content))
        await self._writer.drain()
        # No await from here on: the dot either leaves or raises.
        self._protocol.write(b".\r\n")

    async def read_verdict(self) -> SMTPResponse:
        """Read what the server says to the letter it was handed."""
        reply = await self._protocol.read_response()
        self._in_doubt = False
        return reply

    def close(self) -> None:
        """Drop the connection at once: nothing that matters is under way."""
        # Not the client's close(), which would leave a TLS farewell for later.
        self._writer.transport.abort()
        self._client.close()

    async def quit(self) -> None:
        """Say goodbye."""
        with suppress(SMTPException, OSError):
            async with asyncio.timeout(_LIVENESS_SECONDS):
                await self._client.execute_command(b"QUIT")
        self.close()


class ConnectionPool:
    """Idle connections to one endpoint, as many as the account's slots at most."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._tls_context = (
            None if endpoint.tls == "none" else ssl.create_default_context()
        )
        self._idle: list[SmtpConnection] = []

    async def take(self) -> SmtpConnection:
        """Return a connection that answers, an idle one or a new one."""
        while self._idle:
            connection = self._idle.pop()
            if await self._still_good(connection):
                return connection
        connection = SmtpConnection(self._endpoint, self._tls_context)
        await connection.open()
        return connection

    def give_back(self, connection: SmtpConnection) -> None:
        """Keep the connection for the next letter, if it is fit for one."""
        if connection.is_reusable:
            self._idle.append(connection)
        else:
            connection.close()

    async def aclose(self) -> None:
        """End every idle session."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(connection.quit() for connection in idle))

    async def _still_good(self, connection: SmtpConnection) -> bool:
        try:
            return connection.is_reusable and await connection.is_alive()
        finally:
            if not connection.is_reusable:
                connection.close()


def _stuffed(content: bytes) -> bytes:
    lines = _LINE_BREAK.sub(b"\r\n", content)
    if not lines.endswith(b"\r\n"):
        lines += b"\r\n"
    return _LEADING_DOT.sub(b"..", lines)
