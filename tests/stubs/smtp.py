"""A mail server that answers as it is told and remembers what it was given."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, TypeAlias

from tests.stubs.server import Close, Disconnected, Hang, Raw, Script, StubServer


@dataclass(frozen=True, slots=True)
class Reply:
    """An SMTP reply: `Reply("550 5.1.1 no such user")`; 421 also closes."""

    text: str


SmtpStep: TypeAlias = Reply | Close | Hang | Raw


@dataclass(frozen=True, slots=True)
class ReceivedMail:
    """Everything up to the final dot, whatever was answered to it."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes
    connection: int

    @property
    def parsed(self) -> EmailMessage:
        return message_from_bytes(self.content, policy=policy.default)


@dataclass(slots=True)
class _Session:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    connection: int
    secure: bool
    sender: str = ""
    recipients: list[str] = field(default_factory=list)


_USUAL = {
    "connect": "220 stub ESMTP",
    "helo": "250 stub",
    "mail": "250 2.1.0 Ok",
    "rcpt": "250 2.1.5 Ok",
    "data": "354 go ahead",
    "dot": "250 2.0.0 Ok: queued as 4F1A",
    "rset": "250 2.0.0 Ok",
    "noop": "250 2.0.0 Ok",
    "quit": "221 2.0.0 Bye",
    "auth": "235 2.7.0 welcome",
    "starttls": "220 2.0.0 go ahead",
}


class SmtpStub(StubServer):
    """Accepts everything until told else.

    `stub.queue("dot", Close())` scripts the next time a stage is reached,
    `stub.always("rcpt", Reply("450 later"))` every time; `stub.decide` may choose by
    stage and argument. The stages are connect, ehlo, starttls, auth, mail, rcpt,
    data (the command), dot (the whole content has come), rset, noop, quit.
    """

    def __init__(
        self,
        *,
        starttls: ssl.SSLContext | None = None,
        credentials: tuple[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.received: list[ReceivedMail] = []
        self.commands: list[str] = []
        self.decide: Callable[[str, str], SmtpStep | None] = lambda stage, text: None
        self._script: Script[SmtpStep] = Script()
        self._starttls = starttls
        self._credentials = credentials

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}?tls=none"

    def queue(self, stage: str, *steps: SmtpStep) -> None:
        self._script.queue(stage, *steps)

    def always(self, stage: str, step: SmtpStep) -> None:
        self._script.always(stage, step)

    def wait_for_mail(self, count: int) -> list[ReceivedMail]:
        self.wait_until(lambda: len(self.received) >= count)
        return list(self.received)

    async def talk(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        secure = self._tls is not None
        session = _Session(reader, writer, self.connections, secure)
        await self._answer(session, "connect", "")
        while True:
            line = (await reader.readuntil(b"\r\n")).decode("latin-1").rstrip("\r\n")
            self.note(lambda line=line: self.commands.append(line))  # type: ignore[misc]  # a bound default
            command, _, argument = line.partition(" ")
            await self._obey(session, command.lower(), argument)

    async def _obey(self, session: _Session, command: str, argument: str) -> None:
        if command == "auth" and not self._is_welcome(argument):
            await self._say(session, "535 5.7.8 who are you")
            return
        went_well = await self._answer(session, command, argument)
        if command == "quit":
            raise Disconnected
        if not went_well:
            return
        if command == "mail":
            session.sender, session.recipients = _mailbox(argument), []
        elif command == "rcpt":
            session.recipients.append(_mailbox(argument))
        elif command == "data":
            await self._receive(session)
        elif command == "starttls" and self._starttls is not None:
            await session.writer.start_tls(self._starttls)
            session.secure = True

    async def _receive(self, session: _Session) -> None:
        lines: list[bytes] = []
        while (line := await session.reader.readuntil(b"\r\n")) != b".\r\n":
            lines.append(line[1:] if line.startswith(b".") else line)
        mail = ReceivedMail(
            session.sender,
            tuple(session.recipients),
            b"".join(lines),
            session.connection,
        )
        self.note(lambda: self.received.append(mail))
        await self._answer(session, "dot", "")

    async def _answer(self, session: _Session, stage: str, argument: str) -> bool:
        step = self.decide(stage, argument) or self._script.next(stage)
        if step is None:
            step = Reply(self._usual(stage, session))
        if not isinstance(step, Reply):
            await self.perform(step, session.writer)
            return False
        await self._say(session, step.text)
        return step.text[0] in "23"

    def _usual(self, stage: str, session: _Session) -> str:
        if stage != "ehlo":
            return _USUAL.get(stage, "500 5.5.2 what?")
        lines = ["stub", "8BITMIME", "SIZE 1000000"]
        if self._starttls is not None and not session.secure:
            lines.append("STARTTLS")
        if self._credentials is not None:
            lines.append("AUTH PLAIN")
        return "\r\n".join([*(f"250-{line}" for line in lines), "250 HELP"])

    def _is_welcome(self, argument: str) -> bool:
        mechanism, _, response = argument.partition(" ")
        if self._credentials is None or mechanism.lower() != "plain":
            return False
        _, *given = base64.b64decode(response).decode().split("\0")
        return tuple(given) == self._credentials

    async def _say(self, session: _Session, text: str) -> None:
        session.writer.write(f"{text}\r\n".encode())
        await session.writer.drain()
        if text.startswith("421"):
            raise Disconnected


def _mailbox(argument: str) -> str:
    return argument[argument.index("<") + 1 : argument.rindex(">")]
