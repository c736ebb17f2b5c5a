"""Get access tokens of a Google service account."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import urlencode

from django.core.exceptions import ImproperlyConfigured
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from providers.base import SendResult, Verdict
from providers.http import HttpAnswer, HttpRequest, check_endpoint
from providers.http_codes import verdict_of_status

SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ASSERTION_SECONDS = 3600
# A token this close to its end is not used for a new call.
_MARGIN_SECONDS = 60.0
_LONGEST_LIFE = 3600.0
# RFC 6750, and more: what a header can carry.
_TOKEN = re.compile(r"[!-~]{1,4096}")
_ERROR_WORD = re.compile(r"[a-z_]{1,40}")

# A call that failed here has sent no message: it is never unknown.
_WITHOUT_MESSAGE = {
    Verdict.UNKNOWN: Verdict.TRANSIENT,
    Verdict.BAD_MESSAGE: Verdict.ACCOUNT_FAULT,
}

Post: TypeAlias = Callable[[HttpRequest], Awaitable[HttpAnswer | SendResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccount:
    """What the key file of a service account says."""

    project_id: str
    client_email: str
    token_uri: str
    key_id: str
    key: RSAKey = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    token: str = field(repr=False)
    until: float


class TokenSource:
    """One token at a time; whoever needs one waits for the same refresh."""

    def __init__(self, *, account: ServiceAccount, post: Post, seconds: float) -> None:
        self._account = account
        self._post = post
        self._seconds = seconds
        self._held: _Held | None = None
        self._refresh: asyncio.Task[str | SendResult] | None = None

    async def current(self) -> str | SendResult:
        """Return a token that is good for a while yet, or why there is none."""
        if self._held is not None and time.monotonic() < self._held.until:
            return self._held.token
        if self._refresh is None:
            self._refresh = asyncio.create_task(self._fetch())
            self._refresh.add_done_callback(self._forget_refresh)
        # Whoever started it may be cancelled; others wait for it too.
        return await asyncio.shield(self._refresh)

    async def replacement(self, refused: str) -> str | SendResult:
        """Return another token than the one that was refused, or why there is none."""
        if self._held is not None and self._held.token == refused:
            self._held = None
        return await self.current()

    async def aclose(self) -> None:
        """Give up a refresh that nobody waits for any more."""
        if self._refresh is not None:
            self._refresh.cancel()
            with suppress(asyncio.CancelledError):
                await self._refresh

    def _forget_refresh(self, _: object) -> None:
        self._refresh = None

    async def _fetch(self) -> str | SendResult:
        asked_at = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._post(write_request(self._account))
        except TimeoutError:
            return Verdict.TRANSIENT.result(code="token timeout")
        if isinstance(answer, SendResult):
            return _without_message(answer)
        granted = answer.json_object() if 200 <= answer.status < 300 else {}
        token = granted.get("access_token")
        if not (isinstance(token, str) and _TOKEN.fullmatch(token)):
            return _refused(answer)
        life = _lifetime(granted.get("expires_in"))
        self._held = _Held(token=token, until=asked_at + life - _MARGIN_SECONDS)
        return token


def parse_service_account(text: str) -> ServiceAccount:
    """Read a key file's JSON; raise ImproperlyConfigured, never quoting the key."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ImproperlyConfigured("service_account: not JSON") from None
    if not isinstance(content, dict):
        raise ImproperlyConfigured("service_account: not a key file")
    account = ServiceAccount(
        project_id=_text(content, "project_id"),
        client_email=_text(content, "client_email"),
        token_uri=_text(content, "token_uri"),
        key_id=_text(content, "private_key_id"),
        key=_private_key(_text(content, "private_key")),
    )
    # What goes there is as good as a token for an hour.
    check_endpoint(
        account.token_uri, confidential=True, option="service_account: token_uri"
    )
    return account


def write_request(account: ServiceAccount) -> HttpRequest:
    """Write the request for a token, signed for the hour that starts now."""
    now = int(time.time())
    claims = {
        "iss": account.client_email,
        "scope": SCOPE,
        "aud": account.token_uri,
        "iat": now,
        "exp": now + _ASSERTION_SECONDS,
    }
    header = {"alg": "RS256", "typ": "JWT", "kid": account.key_id}
    assertion = jwt.encode(header, claims, account.key, algorithms=["RS256"])
    return HttpRequest(
        url=account.token_uri,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        body=urlencode({"grant_type": _GRANT, "assertion": assertion}).encode(),
    )


def _text(content: dict[str, Any], name: str) -> str:
    value = content.get(name)
    if not (isinstance(value, str) and value):
        raise ImproperlyConfigured(f"service_account: no {name}")
    return value


def _private_key(pem: str) -> RSAKey:
    try:
        key = RSAKey.import_key(pem)
    except (ValueError, TypeError, JoseError):
        # Without its cause, which may show a part of the key.
        raise ImproperlyConfigured("service_account: private_key unreadable") from None
    if not key.is_private:
        raise ImproperlyConfigured("service_account: private_key is a public one")
    return key


def _lifetime(expires_in: object) -> float:
    """Read how long a token lives; one that does not say so is used once."""
    if not isinstance(expires_in, int | float):
        return 0.0
    return float(max(min(expires_in, _LONGEST_LIFE), 0.0))


def _refused(answer: HttpAnswer) -> SendResult:
    verdict = verdict_of_status(answer.status, retry_after=answer.retry_after)
    error = answer.json_object().get("error")
    said = error if isinstance(error, str) and _ERROR_WORD.fullmatch(error) else ""
    return _WITHOUT_MESSAGE.get(verdict, verdict).result(
        code=f"token http_{answer.status} {said}".strip(),
        retry_after=answer.retry_after,
    )


def _without_message(broken: SendResult) -> SendResult:
    verdict = Verdict((broken.outcome, broken.scope))
    return _WITHOUT_MESSAGE.get(verdict, verdict).result(code=f"token {broken.code}")
