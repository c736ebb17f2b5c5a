"""Let a POST take an Idempotency-Key: the first answer is kept and given again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction
from django.http import HttpResponse
from rest_framework.request import Request

from tenants.authentication import caller
from tenants.idempotency import (
    IdempotentRequest,
    MissingIdempotencyKey,
    StoredResponse,
    fingerprint,
    key_of,
    read_key,
    run_once,
)
from tenants.request_rate.buckets import SECONDS_HELD
from tenants.request_rate.rate import RateStanding


def answer(
    status_code: int, body: dict[str, Any], *, resource: UUID | None = None
) -> StoredResponse:
    """Write an answer as it goes out and is kept: ids and decisions, no addresses."""
    return StoredResponse(
        status_code=status_code, body=orjson.dumps(body), resource=resource
    )


def answer_once(
    request: Request, *, work: Callable[[], StoredResponse], required: bool = True
) -> HttpResponse:
    """Do the work in one transaction, unless this key has been answered already.

    Where the key is not required and none came, the work is simply done.
    """
    body = request.data if isinstance(request.data, dict) else {}
    try:
        key = read_key(
            header=request.headers.get("Idempotency-Key"),
            body_value=body.get("idempotency_key"),
        )
    except MissingIdempotencyKey:
        if required:
            raise
        with transaction.atomic(durable=True):
            return to_http(work(), replayed=False)
    principal = caller(request)
    identified = IdempotentRequest(
        tenant_id=principal.tenant_id,
        key=key_of(principal, key),
        fingerprint=fingerprint(
            method=str(request.method), path=request.path, body=request.data
        ),
    )
    stored, replayed = run_once(request=identified, work=work)
    return to_http(stored, replayed=replayed)


def rate_headers(standing: RateStanding) -> dict[str, str]:
    """Tell a caller how its rate stands (draft-ietf-httpapi-ratelimit-headers)."""
    policy = f'"{standing.bucket}"'
    headers = {
        "RateLimit-Policy": f"{policy};q={standing.holds};w={SECONDS_HELD}",
        "RateLimit": f"{policy};r={standing.left}",
    }
    if standing.retry_after:
        headers["RateLimit"] += f";t={standing.retry_after}"
        headers["Retry-After"] = str(standing.retry_after)
    return headers


def to_http(
    stored: StoredResponse,
    *,
    replayed: bool,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Send an answer, saying so if it was given before."""
    response = HttpResponse(
        stored.body,
        status=stored.status_code,
        content_type="application/json",
        headers=headers,
    )
    if replayed:
        response["Idempotent-Replayed"] = "true"
    return response
