"""Pages for people without a login: out of a category, and all of their preferences.

Nothing changes by GET: mail scanners open every link. They work without JavaScript.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import View

from foundation.database_clock import database_now
from foundation.ids import public_id
from preferences.consent import Change, Consent, Source
from preferences.links import (
    SHORT_LIFE,
    BrokenLink,
    Visit,
    WayOut,
    preference_path,
    read_visit,
    read_way_out,
)
from preferences.models import Recipient
from preferences.notification_preferences import (
    Saying,
    choose,
    read_preferences,
    replace_preferences,
)
from preferences.page_words import (
    EDITION,
    WORDS,
    category_label,
    choose_language,
)
from preferences.preconditions import Precondition, PreconditionFailed
from preferences.settings_form import Chosen, Sheet, read_sheet
from tenants.models import Tenant, TenantCategory

# The token is all that these pages know somebody by: nothing runs, loads or frames
# here that is not ours, and the address goes nowhere else.
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
GONE = 404
CHANGED_MEANWHILE = 409


class _Page(View):
    http_method_names = ["get", "head", "post", "options"]

    # There is no session to ride on: whoever has the link may use it.
    @method_decorator(csrf_exempt)
    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        try:
            response = super().dispatch(request, *args, **kwargs)
        except BrokenLink:
            response = _broken(request)
        response["Content-Security-Policy"] = _POLICY
        response["Referrer-Policy"] = "no-referrer"
        response["Cache-Control"] = "no-store"
        return response


class UnsubscribePage(_Page):
    """One category on one channel: GET asks, POST does it (RFC 8058), twice is once."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        way_out = read_way_out(token)
        category = _category(way_out)
        if category is None or category.legal_class == "mandatory":
            return _answered(request, way_out, "mandatory_category")
        return _answered(request, way_out, "question")

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        way_out = read_way_out(token)
        by_button = request.POST.get("source") == "page"
        wording = ""  # a mail client shows words of its own
        if by_button:
            wording = _wording(request, way_out.tenant_id, way_out.user_id)
        is_new = choose(
            tenant_id=way_out.tenant_id,
            user_id=way_out.user_id,
            consent=Consent(
                channel=way_out.channel,
                category=way_out.category,
                change=Change.WITHDRAWN,
            ),
            said=Saying(
                actor=f"user:{way_out.user_id}",
                source=Source.UNSUBSCRIBE_LINK,
                wording=wording,
                evidence=f"{'page' if by_button else 'one-click'}"
                f" of {public_id('dlv', way_out.delivery_id)}",
            ),
        )
        return _answered(request, way_out, "done" if is_new else "already")


class PreferenceCentre(_Page):
    """All categories and channels of one person, to be ticked."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        visit = read_visit(token, now=database_now())
        return _centre(request, visit)

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        visit = read_visit(token, now=database_now())
        chosen = Chosen.of(request.POST)
        stored = read_preferences(tenant_id=visit.tenant_id, user_id=visit.user_id)
        sheet = read_sheet(tenant_id=visit.tenant_id, choices=stored.choices)
        try:
            replace_preferences(
                tenant_id=visit.tenant_id,
                user_id=visit.user_id,
                precondition=Precondition(versions=(chosen.version,)),
                choices=sheet.with_chosen(chosen, stored.choices),
                said=Saying(
                    actor=f"user:{visit.user_id}",
                    source=Source.PREFERENCE_PAGE,
                    wording=_wording(request, visit.tenant_id, visit.user_id),
                ),
            )
        except PreconditionFailed:
            return _centre(request, visit, notice="stale", status=CHANGED_MEANWHILE)
        return _centre(request, visit, notice="saved")


def _category(way_out: WayOut) -> TenantCategory | None:
    return TenantCategory.objects.filter(
        tenant_id=way_out.tenant_id, name=way_out.category
    ).first()


def _answered(request: HttpRequest, way_out: WayOut, said: str) -> HttpResponse:
    language = _language(request, way_out.tenant_id, way_out.user_id)
    words = WORDS[language]
    category = _category(way_out)
    told = words[said].format(
        category=category_label(
            words,
            name=way_out.category,
            label=category.label_in(language) if category else "",
        ),
        by=words[f"by_{way_out.channel.key}"],
    )
    centre = preference_path(
        tenant_id=way_out.tenant_id,
        user_id=way_out.user_id,
        expires_at=database_now() + SHORT_LIFE,
    )
    context = {
        "tenant": _tenant_name(way_out.tenant_id),
        "language": language,
        "state": "asked" if said == "question" else "told",
        "centre": centre,
        "words": {
            **words,
            "title": words["unsubscribe"],
            "question": told,
            "outcome": told,
        },
    }
    return render(request, "preferences/unsubscribe.html", context)


def _centre(
    request: HttpRequest, visit: Visit, *, notice: str = "", status: int = 200
) -> HttpResponse:
    stored = read_preferences(tenant_id=visit.tenant_id, user_id=visit.user_id)
    sheet: Sheet = read_sheet(tenant_id=visit.tenant_id, choices=stored.choices)
    language = _language(request, visit.tenant_id, visit.user_id)
    words = WORDS[language]
    context = {
        "tenant": _tenant_name(visit.tenant_id),
        "language": language,
        "words": {**words, "title": words["preferences"]},
        "notice": words[notice] if notice else "",
        "is_alert": notice == "stale",
        "version": stored.version,
        **sheet.shown(words),
    }
    return render(request, "preferences/centre.html", context, status=status)


def _broken(request: HttpRequest) -> HttpResponse:
    language = choose_language(request.headers.get("Accept-Language", ""))
    words = WORDS[language]
    context = {
        "tenant": "",
        "language": language,
        "words": {**words, "title": words["broken_title"]},
    }
    return render(request, "preferences/broken.html", context, status=GONE)


def _language(request: HttpRequest, tenant_id: int, user_id: str) -> str:
    own = (
        Recipient.objects.filter(tenant_id=tenant_id, user_id=user_id)
        .values_list("locale", flat=True)
        .first()
    )
    return choose_language(own or "", request.headers.get("Accept-Language", ""))


def _wording(request: HttpRequest, tenant_id: int, user_id: str) -> str:
    return f"pages {EDITION} {_language(request, tenant_id, user_id)}"


def _tenant_name(tenant_id: int) -> str:
    return Tenant.objects.values_list("name", flat=True).get(pk=tenant_id)
