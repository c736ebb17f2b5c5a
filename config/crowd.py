"""Refuse before any work what would be refused for a crowd after some.

Under an overload refusals are what a process does most: one that has passed through all
middlewares and the view costs three times as much, taken from those it accepts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import msgspec
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch, resolve
from msgspec import Struct

from config.problem_details import answer_to
from config.problem_kinds import PROBLEMS
from notifications.acceptance.admission import category_of
from notifications.acceptance.shedding import Overloaded, is_crowded, shed_crowd
from tenants.api_keys import InvalidApiKey, verify_key
from tenants.categories import Priority, default_priority
from tenants.standing import TenantSuspended

View = Callable[[HttpRequest], HttpResponseBase]

_PATH = "/v1/notifications"
_BEARER = "Bearer "
# What is larger is not read twice.
_MOST_OCTETS = 16 * 1024


class _Template(Struct):
    name: str
    version: int | None = None


class _Peek(Struct):
    """As much of a submission as says of which class it is."""

    template: _Template
    priority: str | None = None


_decoder = msgspec.json.Decoder(_Peek)


def refuse_a_crowd(get_response: View) -> View:
    """Answer 503 at once to a class that finds too many submissions under way."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        if is_crowded() and request.path == _PATH and request.method == "POST":
            priority = _peek(request)
            if priority is not None:
                try:
                    shed_crowd(priority)
                except Overloaded as refused:
                    request.resolver_match = _match()
                    return answer_to(refused, PROBLEMS[Overloaded], request)
        return get_response(request)

    return answer


def _peek(request: HttpRequest) -> Priority | None:
    """Tell the class of a submission; None for whatever the view has to look at."""
    header = request.META.get("HTTP_AUTHORIZATION", "")
    length = request.META.get("CONTENT_LENGTH", "")
    if not (length.isdecimal() and int(length) <= _MOST_OCTETS):
        return None
    try:
        principal = verify_key(header.removeprefix(_BEARER))
        body = _decoder.decode(request.body)
    except (InvalidApiKey, TenantSuspended, msgspec.DecodeError):
        return None
    if body.priority is not None:
        return Priority.__members__.get(body.priority.upper())
    return default_priority(
        category_of(principal.tenant_id, body.template.name, body.template.version)
    )


@cache
def _match() -> ResolverMatch:
    return resolve(_PATH)
