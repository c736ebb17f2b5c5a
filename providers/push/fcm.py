"""Push by Firebase Cloud Messaging, HTTP v1."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from foundation.ids import public_id
from providers.base import OutboundMessage, SendResult, Verdict
from providers.channels import Channel
from providers.http import (
    CONNECT_SECONDS,
    HttpAdapter,
    HttpAnswer,
    HttpRequest,
    check_endpoint,
)
from providers.push.fcm_codes import classify_error
from providers.push.google_token import TokenSource, parse_service_account

LARGEST_PAYLOAD = 4096
_LONGEST_TTL = 28 * 24 * 3600
_RESERVED_KEY = re.compile(r"from|message_type|(gcm|google).*", re.DOTALL)
_MESSAGE_NAME = re.compile(r"projects/[^/]{1,64}/messages/[^/]{1,120}")


class UnsendableMessage(Exception):
    """FCM would refuse this message, or leave out a part of it."""


class FcmAdapter(HttpAdapter):
    """Speaks for one Firebase project; `service_account` is the JSON of its key file.

    FCM has no idempotency key. The delivery id is the notification's tag, so that a
    device shows the second copy in the place of the first.
    """

    channels = frozenset({Channel.PUSH})
    accepts_idempotency_key = False

    def __init__(
        self,
        *,
        service_account: str,
        url: str = "https://fcm.googleapis.com",
        token_seconds: float = 4.0,
    ) -> None:
        account = parse_service_account(service_account)
        check_endpoint(url, confidential=True)
        project = quote(account.project_id, safe="")
        super().__init__(url=f"{url.rstrip('/')}/v1/projects/{project}/messages:send")
        self._tokens = TokenSource(
            account=account, post=self.exchange, seconds=token_seconds
        )
        # A refused token is replaced once, and the message sent once more.
        self.seconds_before_body = 2 * (token_seconds + CONNECT_SECONDS)

    def build_request(self, message: OutboundMessage) -> HttpRequest:
        """Write the request but for its token; raise UnsendableMessage."""
        content = {"message": write_message(message)}
        return HttpRequest(
            url=self._url,
            headers={"Content-Type": "application/json"},
            body=json.dumps(content).encode(),
        )

    async def send(self, message: OutboundMessage) -> SendResult:
        """Make one attempt; a token that FCM refuses is replaced once within it."""
        try:
            request = self.build_request(message)
        except UnsendableMessage as refusal:
            return Verdict.BAD_MESSAGE.result(code=str(refusal))
        token = await self._tokens.current()
        answer = await self._post_with(token, request)
        if isinstance(token, str) and _refuses_token(answer):
            token = await self._tokens.replacement(token)
            answer = await self._post_with(token, request)
        return self.classify(answer) if isinstance(answer, HttpAnswer) else answer

    def classify(self, answer: HttpAnswer) -> SendResult:
        """Say what an answer means for the message."""
        body = answer.json_object()
        if not 200 <= answer.status < 300:
            return classify_error(
                status=answer.status, body=body, retry_after=answer.retry_after
            )
        name, code = body.get("name"), f"http_{answer.status}"
        if isinstance(name, str) and _MESSAGE_NAME.fullmatch(name):
            return Verdict.ACCEPTED.result(code=code, provider_message_id=name)
        return Verdict.UNKNOWN.result(code=f"{code} without_id")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._tokens.aclose()
        await super().aclose()

    async def _post_with(
        self, token: str | SendResult, request: HttpRequest
    ) -> HttpAnswer | SendResult:
        if isinstance(token, SendResult):
            return token
        headers = {**request.headers, "Authorization": f"Bearer {token}"}
        return await self.exchange(replace(request, headers=headers))


def write_message(message: OutboundMessage) -> dict[str, Any]:
    """Write a Message of projects.messages; raise UnsendableMessage."""
    delivery = public_id("dlv", message.delivery_id)
    parts = message.parts
    notification = {name: parts[name] for name in ("title", "body") if name in parts}
    payload = {
        "notification": notification,
        "data": _data(parts, own={"delivery_id": delivery}),
    }
    # FCM counts keys and values. The JSON is a little more, which leaves APNs, whose
    # limit is the same, room for its wrapping.
    compact = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    if len(compact.encode(errors="surrogatepass")) > LARGEST_PAYLOAD:
        raise UnsendableMessage("payload_too_large")
    return {
        "token": message.address,
        **payload,
        **_platforms(delivery, expires_at=message.expires_at),
    }


def _platforms(delivery: str, *, expires_at: datetime | None) -> dict[str, Any]:
    # No collapse_key of Android's: a device has four of them, and a fifth waiting
    # message would push out one of another delivery.
    android: dict[str, Any] = {"notification": {"tag": delivery}}
    apns = {"apns-collapse-id": delivery}
    webpush = {"Topic": delivery}
    if expires_at is not None:
        remaining = int((expires_at - datetime.now(tz=UTC)).total_seconds())
        ttl = min(max(remaining, 0), _LONGEST_TTL)
        android["ttl"] = f"{ttl}s"
        apns["apns-expiration"] = str(int(expires_at.timestamp()))
        webpush["TTL"] = str(ttl)
    return {
        "android": android,
        "apns": {"headers": apns},
        "webpush": {"headers": webpush, "notification": {"tag": delivery}},
    }


def _data(parts: Mapping[str, str], *, own: dict[str, str]) -> dict[str, str]:
    """Make text of all values, as FCM wants them; refuse keys that would be lost."""
    if "link" in parts:
        own = {**own, "link": parts["link"]}
    try:
        given = json.loads(parts.get("data", "{}"))
        if not isinstance(given, dict):
            raise UnsendableMessage("malformed_data")
        texts = {key: _text(value) for key, value in given.items()}
    except (ValueError, RecursionError):
        raise UnsendableMessage("malformed_data") from None
    if any(key in own or _RESERVED_KEY.fullmatch(key) for key in texts):
        raise UnsendableMessage("reserved_data_key")
    return {**texts, **own}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _refuses_token(answer: HttpAnswer | SendResult) -> bool:
    if isinstance(answer, SendResult) or answer.status != 401:
        return False
    verdict = classify_error(status=401, body=answer.json_object(), retry_after=None)
    return verdict.code == "UNAUTHENTICATED"
