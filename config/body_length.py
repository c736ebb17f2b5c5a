"""Refuse bodies that come without their length."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.problem_details import problem
from config.problem_kinds import LENGTH_REQUIRED

View = Callable[[HttpRequest], HttpResponseBase]


def require_length(get_response: View) -> View:
    """Answer 411 to a chunked body: Django would take it for an empty one, silently."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        if "HTTP_TRANSFER_ENCODING" in request.META:
            return problem(request, LENGTH_REQUIRED)
        return get_response(request)

    return answer
