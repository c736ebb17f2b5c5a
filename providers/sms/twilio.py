"""Send text messages by Twilio's Programmable Messaging."""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.core.exceptions import ImproperlyConfigured
from yarl import URL

from foundation.ids import public_id
from providers.base import OutboundMessage, SendResult, Verdict
from providers.channels import Channel
from providers.http import HttpAdapter, HttpAnswer, HttpRequest, check_endpoint
from providers.sms.twilio_codes import verdict_of

_LONGEST_VALIDITY = 36_000
_ACCOUNT_SID = re.compile(r"AC[0-9a-fA-F]{32}")
_KEY_SID = re.compile(r"SK[0-9a-fA-F]{32}")
_SERVICE_SID = re.compile(r"MG[0-9a-fA-F]{32}")
_MESSAGE_SID = re.compile(r"(SM|MM)[0-9a-fA-F]{32}")
# A number, a short code, or a name with at least one letter.
_SENDER = re.compile(
    r"\+[1-9][0-9]{4,14}|[0-9]{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 &+_-]{1,11}"
)


class TwilioAdapter(HttpAdapter):
    """Speaks for one Twilio account; the sender is a number, a name or an MG… SID.

    Twilio has no idempotency key and takes no metadata: the delivery id travels in the
    address of the status callback, if there is one.
    """

    channels = frozenset({Channel.SMS})
    accepts_idempotency_key = False

    def __init__(
        self,
        *,
        account_sid: str,
        auth_token: str,
        sender: str,
        key_sid: str = "",
        callback_url: str = "",
        url: str = "https://api.twilio.com",
    ) -> None:
        _check_account(account_sid=account_sid, key_sid=key_sid, auth_token=auth_token)
        resource = f"/2010-04-01/Accounts/{account_sid}/Messages.json"
        super().__init__(url=f"{url.rstrip('/')}{resource}", token=auth_token)
        self._user = key_sid or account_sid
        self._sender = _sender_parameter(sender)
        self._callback = _parse_callback(callback_url) if callback_url else None

    def build_request(self, message: OutboundMessage) -> HttpRequest:
        """Write the form that creates a message."""
        form = {
            "To": message.address,
            "Body": message.parts.get("text", ""),
            **self._sender,
        }
        if message.expires_at is not None:
            form["ValidityPeriod"] = str(_validity_period(message.expires_at))
        if self._callback is not None:
            delivery = public_id("dlv", message.delivery_id)
            form["StatusCallback"] = str(self._callback.update_query(delivery=delivery))
        credentials = b64encode(f"{self._user}:{self._token}".encode()).decode()
        return HttpRequest(
            url=self._url,
            headers={
                "Authorization": f"Basic {credentials}",
                "Content-Type": "application/x-www-form-urlencoded",
            },
            # Half of a surrogate pair has no UTF-8.
            body=urlencode(form, errors="replace").encode(),
        )

    def classify(self, answer: HttpAnswer) -> SendResult:
        """Say what an answer means for the message."""
        body = answer.json_object()
        if 200 <= answer.status < 300:
            return _created(body.get("sid"), status=answer.status)
        code = body.get("code")
        known = code if type(code) is int and 0 < code < 1_000_000 else None
        verdict = verdict_of(
            status=answer.status,
            code=known,
            by_pool="MessagingServiceSid" in self._sender,
        )
        return verdict.result(
            code=str(known or f"http_{answer.status}"),
            retry_after=answer.retry_after,
        )


def _check_account(*, account_sid: str, key_sid: str, auth_token: str) -> None:
    if not _ACCOUNT_SID.fullmatch(account_sid):
        raise ImproperlyConfigured("account_sid: AC and 32 hexadecimal digits")
    if key_sid and not _KEY_SID.fullmatch(key_sid):
        raise ImproperlyConfigured("key_sid: SK and 32 hexadecimal digits")
    if not auth_token:
        raise ImproperlyConfigured("auth_token: missing")


def _sender_parameter(sender: str) -> dict[str, str]:
    if _SERVICE_SID.fullmatch(sender):
        return {"MessagingServiceSid": sender}
    if not _SENDER.fullmatch(sender):
        raise ImproperlyConfigured(
            "sender: a number, a short code, a name of up to 11 characters, or MG…"
        )
    return {"From": sender}


def _parse_callback(url: str) -> URL:
    check_endpoint(url, confidential=False, option="callback_url")
    parsed = URL(url)
    # Twilio refuses every message otherwise (21609).
    if "_" in (parsed.host or ""):
        raise ImproperlyConfigured("callback_url: no underscore in the host")
    return parsed


def _validity_period(expires_at: datetime) -> int:
    remaining = int((expires_at - datetime.now(tz=UTC)).total_seconds())
    return min(max(remaining, 1), _LONGEST_VALIDITY)


def _created(sid: object, *, status: int) -> SendResult:
    code = f"http_{status}"
    if isinstance(sid, str) and _MESSAGE_SID.fullmatch(sid):
        return Verdict.ACCEPTED.result(code=code, provider_message_id=sid)
    return Verdict.UNKNOWN.result(code=f"{code} without_id")
