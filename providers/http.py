"""Call providers over HTTP; other adapters differ in two methods and a code table."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import aiohttp
import orjson
from aiohttp.abc import AbstractStreamWriter
from django.core.exceptions import ImproperlyConfigured
from yarl import URL

from foundation.ids import public_id
from providers.base import (
    LOOPBACK_HOSTS,
    Adapter,
    OutboundMessage,
    SendResult,
    Verdict,
)
from providers.channels import Channel
from providers.http_codes import parse_retry_after, verdict_of_status

CONNECT_SECONDS = 3.0
_LONGEST_ANSWER = 64 * 1024

# What a 4xx may say in `error` about the person rather than the message.
RECIPIENT_ERRORS: Mapping[str, Verdict] = {
    "invalid_recipient": Verdict.BAD_RECIPIENT,
    "invalid_token": Verdict.DEAD_TOKEN,
    "opted_out": Verdict.OPTED_OUT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A POST, or a look-up without a body, ready to go."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    method: str = "POST"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """An answer, with at most the first 64 kB of its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after(self) -> timedelta | None:
        """Return how long the provider wants to be left alone."""
        return parse_retry_after(
            self.headers.get("Retry-After"), now=datetime.now(tz=UTC)
        )

    def json_object(self) -> dict[str, Any]:
        """Return the body's JSON object; an empty one if it is anything else."""
        try:
            parsed = orjson.loads(self.body)
        except ValueError:
            parsed = _parse_leniently(self.body)
        return parsed if isinstance(parsed, dict) else {}


class UnsendableMessage(Exception):
    """The provider would refuse this message or leave out a part of it; its text is
    the code of the result."""


class HttpAdapter(Adapter):
    """Posts to a provider of your own: JSON in, `{"id": …}` out.

    For another protocol override build_request, which may raise UnsendableMessage,
    and classify; transport faults are classified here, for all of them.
    """

    channels = frozenset({Channel.EMAIL, Channel.SMS, Channel.PUSH})
    idempotency_window: ClassVar[timedelta | None] = timedelta(hours=24)
    seconds_before_body = CONNECT_SECONDS

    def __init__(self, *, url: str, token: str = "") -> None:
        check_endpoint(url, confidential=bool(token))
        _check_token(token)
        self._url = url
        self._token = token
        self._session: aiohttp.ClientSession | None = None

    def build_request(self, message: OutboundMessage) -> HttpRequest:
        """Write the request of an attempt; the same delivery has the same key."""
        delivery = public_id("dlv", message.delivery_id)
        expires_at = message.expires_at
        content = {
            "id": delivery,
            "to": message.address,
            "channel": message.channel.key,
            "parts": dict(message.parts),
            "expires_at": expires_at.isoformat() if expires_at else None,
        }
        headers = {"Content-Type": "application/json", "Idempotency-Key": delivery}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return HttpRequest(
            url=self._url, headers=headers, body=json.dumps(content).encode()
        )

    def classify(self, answer: HttpAnswer) -> SendResult:
        """Say what an answer means for the message."""
        code = f"http_{answer.status}"
        body = answer.json_object()
        if 200 <= answer.status < 300:
            return _accepted_under(body.get("id"), code=code)
        error = str(body.get("error"))
        if 400 <= answer.status < 500 and error in RECIPIENT_ERRORS:
            return RECIPIENT_ERRORS[error].result(code=f"{code} {error}")
        retry_after = answer.retry_after
        verdict = verdict_of_status(answer.status, retry_after=retry_after)
        return verdict.result(code=code, retry_after=retry_after)

    async def send(self, message: OutboundMessage) -> SendResult:
        """Make one attempt; nothing is followed, repeated or remembered in between."""
        try:
            request = self.build_request(message)
        except UnsendableMessage as refusal:
            return Verdict.BAD_MESSAGE.result(code=str(refusal))
        answer = await self.exchange(request)
        return self.classify(answer) if isinstance(answer, HttpAnswer) else answer

    async def exchange(self, request: HttpRequest) -> HttpAnswer | SendResult:
        """Ask once; what breaks off comes back as what it means for the message."""
        body = _CountedBody(request.body)
        try:
            return await self._ask(request, body)
        except aiohttp.ClientConnectorCertificateError:
            return Verdict.ACCOUNT_FAULT.result(code="tls_certificate")
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            return Verdict.TRANSIENT.result(code="not_connected")
        except (aiohttp.ClientError, OSError):
            if body.has_left:
                return Verdict.UNKNOWN.result(code="lost_after_body")
            return Verdict.TRANSIENT.result(code="lost_before_body")

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(self, request: HttpRequest, body: _CountedBody) -> HttpAnswer:
        if self._session is None:
            self._session = _open_session()
        response = await self._session.request(
            request.method,
            request.url,
            data=body if request.body else None,
            headers=request.headers,
            allow_redirects=False,
        )
        return HttpAnswer(
            status=response.status,
            headers=response.headers,
            body=await _read_capped(response),
        )


def _parse_leniently(body: bytes) -> Any:
    """Parse what is not quite JSON: with a byte order mark, or half of an emoji.

    Without its id an accepted message would be one whose outcome is unknown.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


class _CountedBody(aiohttp.BytesPayload):
    """A body that knows whether all of it was handed to the connection."""

    has_left = False

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        await super().write_with_length(writer, content_length)
        self.has_left = True


def encode_form(fields: Mapping[str, str]) -> bytes:
    """Write a form; half of a surrogate pair, which has no UTF-8, is left out."""
    # urlencode walks every byte in Python: three times as slow, nine for a long text.
    return URL.build(query=fields).raw_query_string.encode()


def check_endpoint(url: str, *, confidential: bool, option: str = "url") -> None:
    """Raise ImproperlyConfigured unless an adapter may post to this address."""
    try:
        parts = URL(url)
    except ValueError as fault:
        raise ImproperlyConfigured(f"{option}: malformed") from fault
    if parts.scheme not in {"http", "https"} or not parts.host:
        raise ImproperlyConfigured(f"{option}: write https://host/path")
    if confidential and parts.scheme == "http" and parts.host not in LOOPBACK_HOSTS:
        raise ImproperlyConfigured(f"{option}: a token needs https")


def _check_token(token: str) -> None:
    if not (token.isascii() and token.isprintable()):
        raise ImproperlyConfigured("token: not fit for a header")


def _open_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        # No limit here: the account's slots are the limit, and waiting for a
        # connection would count as connecting.
        connector=aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context()),
        timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": "identity", "User-Agent": "notifications"},
        auto_decompress=False,
        trust_env=False,
    )


async def _read_capped(response: aiohttp.ClientResponse) -> bytes:
    """Read up to the cap; what breaks off is judged by its status and what came."""
    content, answer = response.content, bytearray()
    try:
        while len(answer) < _LONGEST_ANSWER and not content.at_eof():
            answer += await content.read(_LONGEST_ANSWER - len(answer))
    except (aiohttp.ClientError, OSError):
        return b""
    finally:
        # Whoever has read it to its end has given back the connection.
        if not response.closed:
            response.close()
    return bytes(answer)


def _accepted_under(provider_id: object, *, code: str) -> SendResult:
    if isinstance(provider_id, str) and 0 < len(provider_id) <= 200:
        return Verdict.ACCEPTED.result(code=code, provider_message_id=provider_id)
    return Verdict.UNKNOWN.result(code=f"{code} without_id")
