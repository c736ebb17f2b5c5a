"""Push by Firebase Cloud Messaging, HTTP v1."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

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
from providers.push.fcm_message import write_message
from providers.push.google_token import TokenSource, parse_service_account

_MESSAGE_NAME = re.compile(r"projects/[^/]{1,64}/messages/[^/]{1,120}")


class FcmAdapter(HttpAdapter):
    """Speaks for one Firebase project; `service_account` is the JSON of its key file.

    FCM has no idempotency key. The delivery id is the notification's tag, so that a
    device shows the second copy in the place of the first.
    """

    channels = frozenset({Channel.PUSH})
    idempotency_window = None

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
            account=account, post=super().exchange, seconds=token_seconds
        )
        # A refused token is replaced once, and the message sent once more.
        self.seconds_before_body = 2 * (token_seconds + CONNECT_SECONDS)

    def build_request(self, message: OutboundMessage) -> HttpRequest:
        """Write the request but for its token."""
        content = {"message": write_message(message)}
        return HttpRequest(
            url=self._url,
            headers={"Content-Type": "application/json"},
            body=json.dumps(content).encode(),
        )

    async def exchange(self, request: HttpRequest) -> HttpAnswer | SendResult:
        """Post with a token; one that FCM refuses is replaced, once."""
        token = await self._tokens.current()
        answer = await self._post_with(token, request)
        if isinstance(token, str) and _refuses_token(answer):
            token = await self._tokens.replacement(token)
            answer = await self._post_with(token, request)
        return answer

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
        return await super().exchange(
            HttpRequest(url=request.url, headers=headers, body=request.body)
        )


def _refuses_token(answer: HttpAnswer | SendResult) -> bool:
    if isinstance(answer, SendResult) or answer.status != 401:
        return False
    verdict = classify_error(status=401, body=answer.json_object(), retry_after=None)
    return verdict.code == "UNAUTHENTICATED"
