"""RFC 9457 problem details: what the API answers when something went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import orjson
import structlog
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from rest_framework import exceptions as drf_errors

from config.problem_kinds import (
    FORBIDDEN,
    INTERNAL,
    MALFORMED,
    NOT_FOUND,
    OTHER_PROBLEMS,
    PROBLEMS,
    UNAVAILABLE,
    ProblemKind,
    kind_of,
)
from foundation.field_problems import FieldProblem, locate
from notifications.acceptance.shedding import Overloaded
from notifications.acceptance.sms_rules import NumberLimited
from tenants.answers import rate_headers
from tenants.daily_quotas import DailyQuotaExceeded
from tenants.request_rate.rate import RateLimited

log = structlog.get_logger(__name__)

# Their own words would say more than a stranger needs to know.
_SILENT = {NOT_FOUND, UNAVAILABLE, INTERNAL, FORBIDDEN}


@runtime_checkable
class NamesFields(Protocol):
    """An error that says which fields are wrong."""

    errors: Sequence[FieldProblem]


def handle_exception(
    error: Exception, context: Mapping[str, Any]
) -> HttpResponse | None:
    """Answer for a DRF view; an unknown error goes on to the log and handler500."""
    kind = kind_of(error)
    if kind is None:
        return None
    if kind is UNAVAILABLE:
        log.warning("database unavailable", error=type(error).__name__)
    response = problem(
        context["request"],
        kind,
        detail="" if kind in _SILENT else _detail(error),
        members=_members(kind, error),
    )
    for name, value in _headers(error).items():
        response[name] = value
    # What is known is in the line of its request. Django would write a second one for
    # each, which is a quarter of what a refusal costs.
    vars(response)["_has_been_logged"] = True
    return response


def problem(
    request: HttpRequest,
    kind: ProblemKind,
    *,
    detail: str = "",
    members: Mapping[str, object] | None = None,
) -> HttpResponse:
    """Write a problem as its response."""
    body = problem_body(
        kind,
        instance=request.path,
        request_id=request.META.get("HTTP_X_REQUEST_ID", ""),
        detail=detail,
        members=members,
    )
    response = HttpResponse(
        body, status=kind.status, content_type="application/problem+json"
    )
    # For those that answer before Django's own middleware would add it.
    response["Content-Length"] = str(len(response.content))
    if kind.retry_after:
        response["Retry-After"] = str(int(kind.retry_after.total_seconds()))
    return response


def problem_body(
    kind: ProblemKind,
    *,
    instance: str,
    request_id: str,
    detail: str = "",
    members: Mapping[str, object] | None = None,
) -> bytes:
    """Write the JSON of a problem."""
    return orjson.dumps(
        {
            "type": kind.type,
            "title": kind.title,
            "status": kind.status,
            "detail": detail or f"{kind.title}.",
            "instance": instance,
            "request_id": request_id,
            **(members or {}),
        }
    )


def _detail(error: Exception) -> str:
    """Return the error's own words, or its docstring, which is the default message."""
    match error:
        case drf_errors.ValidationError():
            return "See `errors` for what is wrong with it."
        case drf_errors.APIException():
            return str(error.detail)
    return str(error) or " ".join((type(error).__doc__ or "").split())


def _headers(error: Exception) -> dict[str, str]:
    match error:
        case drf_errors.NotAuthenticated() | drf_errors.AuthenticationFailed():
            # Set by APIView.handle_exception from the view's first authenticator.
            return {"WWW-Authenticate": getattr(error, "auth_header", "Bearer")}
        case drf_errors.Throttled():
            return {"Retry-After": str(vars(error)["wait"] or 1)}
        case RateLimited():
            return rate_headers(error.standing)
        case DailyQuotaExceeded() | NumberLimited() | Overloaded():
            return {"Retry-After": str(error.retry_after)}
    return {}


def _members(kind: ProblemKind, error: Exception) -> dict[str, object]:
    members: dict[str, object] = {name: getattr(error, name) for name in kind.members}
    if errors := _field_problems(error):
        members["errors"] = [
            {"pointer": each.pointer, "detail": each.detail} for each in errors
        ]
    return members


def _field_problems(error: Exception) -> Sequence[FieldProblem]:
    match error:
        case drf_errors.ValidationError():
            return locate(error.detail)
        case NamesFields():
            return error.errors
    return ()


def describe(request: HttpRequest, slug: str) -> HttpResponse:
    """Say what a type stands for, where somebody follows it like a link."""
    kinds = [k for k in (*PROBLEMS.values(), *OTHER_PROBLEMS) if k.slug == slug]
    if not kinds:
        raise Http404
    kind = kinds[0]
    return JsonResponse({"type": kind.type, "title": kind.title, "status": kind.status})


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django refuses before a view sees it."""
    if not _is_api(request):
        return defaults.bad_request(request, exception)
    return problem(request, kind_of(exception) or MALFORMED)


def handler403(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a refusal outside DRF."""
    if not _is_api(request):
        return defaults.permission_denied(request, exception)
    return problem(request, FORBIDDEN)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a path that no view serves."""
    if not _is_api(request):
        return defaults.page_not_found(request, exception)
    return problem(request, NOT_FOUND)


def handler500(request: HttpRequest) -> HttpResponse:
    """Answer a bug; the log has the trace, the client the request id to quote."""
    if not _is_api(request):
        return defaults.server_error(request)
    return problem(request, INTERNAL)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/v1/")
