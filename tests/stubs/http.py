"""An HTTP provider that answers as it is told and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from tests.stubs.server import Close, Hang, Raw, Script, StubServer


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request as it came in; header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        """Read a form in which every parameter comes once."""
        body = self.body.decode()
        fields = parse_qs(body, keep_blank_values=True, strict_parsing=True)
        assert all(len(values) == 1 for values in fields.values()), body
        return {name: values[0] for name, values in fields.items()}


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; `content` is sent as JSON unless it is bytes."""

    status: int = 202
    content: object = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        content = self.content
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        headers = {"Content-Length": str(len(body)), **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} Whatever\r\n{lines}\r\n".encode() + body


@dataclass(frozen=True, slots=True)
class CloseHalfway:
    """Send the head and half of a body, then close."""

    status: int = 202


HttpStep: TypeAlias = Answer | CloseHalfway | Close | Hang | Raw


class HttpStub(StubServer):
    """Accepts everything, under an id made from the idempotency key, until told else.

    `stub.queue(Hang(), Answer(503))` scripts the next requests, `stub.always(step)` all
    of them; `stub.decide` may choose by request. A step follows the whole request;
    at "connect" it comes before a byte of it is read.

    The stub of a provider overrides `usual`, and `judge`: what that complains of fails
    the test when the stub is left.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.calls: list[HttpCall] = []
        self.complaints: list[Exception] = []
        self.decide: Callable[[HttpCall], HttpStep | None] = lambda call: None
        self._script: Script[HttpStep] = Script()

    def __exit__(self, *exc_info: object) -> None:
        super().__exit__(*exc_info)
        if self.complaints:
            raise self.complaints[0]

    def judge(self, call: HttpCall) -> None:
        """Raise AssertionError unless the provider documents requests like this."""

    def stage(self, call: HttpCall) -> str:
        """Name the stage whose script this request is answered from."""
        return "request"

    def usual(self, call: HttpCall) -> Answer:
        """Return the answer to a request for which there is no script."""
        return Answer(
            202, {"id": f"stub-{call.headers.get('idempotency-key', 'none')}"}
        )

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/messages"

    def queue(self, *steps: HttpStep, stage: str = "request") -> None:
        self._script.queue(stage, *steps)

    def always(self, step: HttpStep, *, stage: str = "request") -> None:
        self._script.always(stage, step)

    def wait_for_calls(self, count: int) -> list[HttpCall]:
        self.wait_until(lambda: len(self.calls) >= count)
        return list(self.calls)

    async def talk(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection = self.connections
        if greeting := self._script.next("connect"):
            await self.perform(greeting, writer)
        while True:
            call = await _read_call(reader, connection)
            self._receive(call)
            step = self.decide(call) or self._script.next(self.stage(call))
            step = step or self.usual(call)
            if isinstance(step, Answer):
                writer.write(step.encode())
            elif isinstance(step, CloseHalfway):
                await self.perform(Raw(_half(step)), writer)
            else:
                await self.perform(step, writer)

    def _receive(self, call: HttpCall) -> None:
        try:
            self.judge(call)
        except (AssertionError, ValueError) as complaint:
            self.complaints.append(complaint)
        self.note(lambda: self.calls.append(call))


async def _read_call(reader: asyncio.StreamReader, connection: int) -> HttpCall:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    pairs = (line.split(":", 1) for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return HttpCall(method, path, headers, body, connection)


def _half(step: CloseHalfway) -> bytes:
    head = f"HTTP/1.1 {step.status} Whatever\r\nContent-Length: 100\r\n\r\n"
    return head.encode() + b'{"id": "half'
