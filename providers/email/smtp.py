"""Hand messages to a mail server."""

from __future__ import annotations

import asyncio
import ssl
from urllib.parse import parse_qs, unquote, urlsplit

from aiosmtplib import (
    SMTPConnectError,
    SMTPException,
    SMTPHeloError,
    SMTPResponse,
    SMTPResponseException,
    SMTPSenderRefused,
)
from django.core.exceptions import ImproperlyConfigured

from providers.base import (
    LOOPBACK_HOSTS,
    Adapter,
    OutboundMessage,
    SendResult,
    Verdict,
)
from providers.channels import Channel
from providers.email.letter import (
    Letter,
    MalformedAddress,
    compose,
    parse_sender,
)
from providers.email.smtp_codes import classify_reply
from providers.email.smtp_connection import ConnectionPool, Endpoint, SmtpConnection

_DEFAULT_PORTS = {"tls": 465, "starttls": 587, "none": 25}
_FAULTS = (SMTPException, OSError)


class SmtpAdapter(Adapter):
    """Speaks SMTP to one server: `smtp://user:password@host:port?tls=starttls|tls|none`.

    SMTP has no idempotency key; a retry carries the same Message-ID, by which a
    receiver may drop the second copy.
    """

    channels = frozenset({Channel.EMAIL})

    def __init__(
        self,
        *,
        url: str,
        sender: str,
        connect_seconds: float = 4.0,
        offer_seconds: float = 4.0,
    ) -> None:
        try:
            self._sender = parse_sender(sender)
        except MalformedAddress as fault:
            raise ImproperlyConfigured("sender: not one mailbox") from fault
        self._pool = ConnectionPool(parse_url(url))
        self._connect_seconds = connect_seconds
        self._offer_seconds = offer_seconds
        self.seconds_before_body = connect_seconds + offer_seconds

    async def send(self, message: OutboundMessage) -> SendResult:
        """Make one attempt over one connection that nobody else uses meanwhile."""
        try:
            letter = compose(message, sender=self._sender)
        except MalformedAddress:
            return Verdict.BAD_RECIPIENT.result(code="malformed_address")
        try:
            async with asyncio.timeout(self._connect_seconds):
                connection = await self._pool.take()
        except _FAULTS as fault:
            return _not_accepted(fault, before_recipient=True)
        try:
            return await self._deliver(connection, letter)
        finally:
            self._pool.give_back(connection)

    async def aclose(self) -> None:
        """End the idle sessions."""
        await self._pool.aclose()

    async def _deliver(self, connection: SmtpConnection, letter: Letter) -> SendResult:
        try:
            async with asyncio.timeout(self._offer_seconds):
                await connection.hand_over(letter)
        except _FAULTS as fault:
            before = isinstance(fault, SMTPHeloError | SMTPSenderRefused)
            return _not_accepted(fault, before_recipient=before)
        try:
            reply = await connection.read_verdict()
        except _FAULTS:
            # RFC 5321 §4.5.3.2: it may be in the queue, its reply is what got lost.
            return Verdict.UNKNOWN.result(code="lost_after_data")
        return _concluded(reply, letter)


def parse_url(url: str) -> Endpoint:
    """Read the url option; raise ImproperlyConfigured, never quoting the password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as fault:
        raise ImproperlyConfigured("url: malformed") from fault
    tls = parse_qs(parts.query).get("tls", ["starttls"])[-1]
    if parts.scheme != "smtp" or not parts.hostname or tls not in _DEFAULT_PORTS:
        raise ImproperlyConfigured(
            "url: write smtp://user:password@host:port?tls=starttls, tls or none"
        )
    if parts.username and tls == "none" and parts.hostname not in LOOPBACK_HOSTS:
        raise ImproperlyConfigured("url: a password needs tls=starttls or tls=tls")
    return Endpoint(
        host=parts.hostname,
        port=port or _DEFAULT_PORTS[tls],
        tls=tls,
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
    )


def _not_accepted(fault: Exception, *, before_recipient: bool) -> SendResult:
    if not isinstance(fault, SMTPResponseException):
        return _broken(fault)
    if not 400 <= fault.code < 600:
        return Verdict.TRANSIENT.result(code="unexpected_reply")
    return classify_reply(
        reply=fault.code, text=fault.message, before_recipient=before_recipient
    )


def _broken(fault: Exception) -> SendResult:
    if _is_untrusted(fault):
        return Verdict.ACCOUNT_FAULT.result(code="tls_certificate")
    if isinstance(fault, TimeoutError):
        return Verdict.TRANSIENT.result(code="timeout_before_body")
    if isinstance(fault, SMTPConnectError):
        return Verdict.TRANSIENT.result(code="not_connected")
    if isinstance(fault, OSError):  # aiosmtplib's SMTPServerDisconnected among them
        return Verdict.TRANSIENT.result(code="lost_before_body")
    # What is left: STARTTLS or AUTH is asked for and the server offers none.
    return Verdict.ACCOUNT_FAULT.result(code="not_offered")


def _is_untrusted(fault: BaseException) -> bool:
    return isinstance(fault, ssl.SSLCertVerificationError) or isinstance(
        fault.__cause__, ssl.SSLCertVerificationError
    )


def _concluded(reply: SMTPResponse, letter: Letter) -> SendResult:
    if 200 <= reply.code < 300:
        return Verdict.ACCEPTED.result(
            code=str(reply.code), provider_message_id=letter.message_id
        )
    if 400 <= reply.code < 600:
        return classify_reply(reply=reply.code, text=reply.message)
    return Verdict.UNKNOWN.result(code="no_verdict")
