"""Send text messages by Twilio's Programmable Messaging."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from aiohttp import encode_basic_auth
from django.core.exceptions import ImproperlyConfigured
from yarl import URL

from foundation.ids import public_id
from providers.base import (
    Finding,
    Found,
    OutboundMessage,
    SearchableAdapter,
    SendResult,
    Verdict,
    cannot_tell,
)
from providers.channels import Channel
from providers.http import (
    HttpAdapter,
    HttpAnswer,
    HttpRequest,
    check_endpoint,
    encode_form,
)
from providers.sms.twilio_codes import (
    CODES,
    PUMPING_BLOCK,
    PUMPING_BLOCK_LASTS,
    verdict_of,
)

_LONGEST_VALIDITY = 36_000
_ACCOUNT_SID = re.compile(r"AC[0-9a-fA-F]{32}")
_KEY_SID = re.compile(r"SK[0-9a-fA-F]{32}")
_SERVICE_SID = re.compile(r"MG[0-9a-fA-F]{32}")
_MESSAGE_SID = re.compile(r"(SM|MM)[0-9a-fA-F]{32}")
# A number, a short code, or a name with at least one letter.
_SENDER = re.compile(
    r"\+[1-9][0-9]{4,14}|[0-9]{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 &+_-]{1,11}"
)


# Of the longest texts as many as an answer may hold.
_PAGE_SIZE = "20"
# Twilio writes whole seconds of its own clock.
_CLOCK_SKEW = timedelta(seconds=2)


class TwilioAdapter(HttpAdapter, SearchableAdapter):
    """Speaks for one Twilio account; the sender is a number, a name or an MG… SID.

    Twilio has no idempotency key and takes no metadata: the delivery id travels in the
    address of the status callback, if there is one. A message is looked up by its
    number, its date and its text; two of the same text cannot be told apart.
    """

    channels = frozenset({Channel.SMS})
    idempotency_window = None
    seconds_until_listed = 120.0

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
        self._headers = {
            "Authorization": encode_basic_auth(key_sid or account_sid, auth_token),
            "Content-Type": "application/x-www-form-urlencoded",
        }
        self._sender = _sender_parameter(sender)
        self._callback = _callback_prefix(callback_url) if callback_url else ""

    def build_request(self, message: OutboundMessage) -> HttpRequest:
        """Write the form that creates a message."""
        form = {
            "To": message.address,
            "Body": message.parts.get("text", ""),
            **self._sender,
        }
        if message.expires_at is not None:
            form["ValidityPeriod"] = str(_validity_period(message.expires_at))
        if self._callback:
            delivery = public_id("dlv", message.delivery_id)
            form["StatusCallback"] = self._callback + delivery
        return HttpRequest(url=self._url, headers=self._headers, body=encode_form(form))

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
        result = verdict.result(
            code=str(known or f"http_{answer.status}"),
            retry_after=answer.retry_after,
        )
        if known == PUMPING_BLOCK and verdict is CODES[PUMPING_BLOCK]:
            wait = answer.retry_after or PUMPING_BLOCK_LASTS
            return replace(result, is_pumping_block=True, retry_after=wait)
        return result

    async def find(self, message: OutboundMessage, *, since: datetime) -> Found:
        """List what went to the number since then, and compare the text."""
        # A day of margin: the list knows days, and filters by when it was sent.
        first_day = (since - timedelta(days=1)).astimezone(UTC).date()
        query = encode_form(
            {
                "To": message.address,
                "DateSent>": first_day.isoformat(),
                "PageSize": _PAGE_SIZE,
            }
        ).decode()
        answer = await self.exchange(
            HttpRequest(
                url=f"{self._url}?{query}",
                headers={"Authorization": self._headers["Authorization"]},
                method="GET",
            )
        )
        if isinstance(answer, SendResult):
            return cannot_tell(answer)
        if answer.status != 200:
            return cannot_tell(self.classify(answer))
        text = message.parts.get("text", "")
        return _search(answer.json_object(), text=text, since=since - _CLOCK_SKEW)


def _search(page: dict[str, Any], *, text: str, since: datetime) -> Found:
    """Find our text among the messages of a page; what is not on a page that is whole
    and readable is nowhere."""
    listed = page.get("messages")
    if not isinstance(listed, list):
        return cannot_tell(Verdict.UNKNOWN.result(code="list_unreadable"))
    is_conclusive = page.get("next_page_uri", "") is None
    for each in listed:
        created_at = _moment(each.get("date_created"))
        if not str(each.get("direction")).startswith("outbound"):
            continue
        if created_at is not None and created_at < since:
            continue
        body, sid = each.get("body"), each.get("sid")
        if body == text and created_at is not None and isinstance(sid, str):
            return Found(finding=Finding.FOUND, provider_message_id=sid)
        # A text that Twilio was told to forget might have been ours.
        is_conclusive = is_conclusive and bool(body) and created_at is not None
    return Found(finding=Finding.NOT_FOUND) if is_conclusive else cannot_tell()


def _moment(text: object) -> datetime | None:
    try:
        moment = parsedate_to_datetime(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


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


def _callback_prefix(url: str) -> str:
    """Return the address up to where a delivery's id comes."""
    check_endpoint(url, confidential=False, option="callback_url")
    parsed = URL(url)
    # Twilio refuses every message otherwise (21609).
    if "_" in (parsed.host or ""):
        raise ImproperlyConfigured("callback_url: no underscore in the host")
    bare = parsed.with_fragment(None).without_query_params("delivery")
    return str(bare.update_query(delivery=""))


def _validity_period(expires_at: datetime) -> int:
    remaining = int((expires_at - datetime.now(tz=UTC)).total_seconds())
    return min(max(remaining, 1), _LONGEST_VALIDITY)


def _created(sid: object, *, status: int) -> SendResult:
    code = f"http_{status}"
    if isinstance(sid, str) and _MESSAGE_SID.fullmatch(sid):
        return Verdict.ACCEPTED.result(code=code, provider_message_id=sid)
    return Verdict.UNKNOWN.result(code=f"{code} without_id")
