"""The inbox as a page of its own, for a product that has none yet."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.generic import TemplateView

# The page holds a person's token: nothing runs, loads or frames here that is not ours.
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)


class InboxPage(TemplateView):
    """Knows no one: the browser reads the API with the token in the URL's fragment,
    which is sent to no server and so is in no log."""

    template_name = "inbox/page.html"

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        response["Content-Security-Policy"] = _POLICY
        response["Referrer-Policy"] = "no-referrer"
        response["Cache-Control"] = "no-store"
        return response
