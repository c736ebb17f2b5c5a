"""The console: where its pages are found, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.templatetags.static import static
from django.urls import reverse

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.statements import server_cursor

if TYPE_CHECKING:
    from django.contrib.admin import AdminSite
else:  # unfold has no types of its own
    from unfold.sites import UnfoldAdminSite as AdminSite

View = TypeVar("View", bound=Callable[..., HttpResponseBase])

# Nothing is loaded from elsewhere and nothing is framed. Alpine, which unfold is made
# of, evaluates attributes, and unfold's colours are an inline style.
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)


@dataclass(frozen=True, slots=True)
class Page:
    """An entry of the sidebar: a list that somebody comes here for."""

    title: str
    icon: str
    model: str
    purpose: str


PAGES = {
    "Deliveries": [
        Page(
            "Notifications",
            "notifications",
            "notifications.Notification",
            "What was accepted, and what became of it",
        ),
        Page(
            "Deliveries",
            "send",
            "notifications.Delivery",
            "One message to one address on one channel",
        ),
        Page(
            "Dead letters",
            "report",
            "notifications.DeadLetter",
            "What waits for a person: look, and replay",
        ),
        Page(
            "Rejected records",
            "running_with_errors",
            "notifications.RejectedRecord",
            "What lay in a topic and names no delivery",
        ),
        Page(
            "Account faults",
            "link_off",
            "providers.AccountFault",
            "Providers that refuse us, and how many messages wait for them",
        ),
        Page(
            "Pumping alarms",
            "sms_failed",
            "tenants.PumpingAlarm",
            "Where one-time passwords pour into numbers that begin alike",
        ),
        Page(
            "Sandbox",
            "science",
            "providers.SandboxMessage",
            "What would have been sent, and how it would have looked",
        ),
    ],
    "Content": [
        Page(
            "Templates",
            "description",
            "templates.Template",
            "Drafts, approved versions and their texts",
        ),
        Page(
            "Layouts",
            "web",
            "templates.Layout",
            "What e-mails have around their own contents",
        ),
        Page(
            "Categories",
            "category",
            "tenants.TenantCategory",
            "What templates are for, and what of it people can switch off",
        ),
    ],
    "People": [
        Page(
            "Suppression list",
            "block",
            "preferences.Suppression",
            "Addresses that nothing is sent to, and why",
        ),
        Page(
            "Consents",
            "fact_check",
            "preferences.ConsentEvent",
            "What a person agreed to and withdrew, when and where",
        ),
    ],
    "Tenancy": [
        Page("Tenants", "apartment", "tenants.Tenant", "Who uses the platform"),
        Page(
            "Routes",
            "alt_route",
            "providers.ProviderRoute",
            "Tenants with providers of their own",
        ),
        Page("API keys", "key", "tenants.ApiKey", "Credentials of services"),
        Page("Staff", "badge", "tenants.StaffMembership", "Who may do what here"),
        Page("Accounts", "person", "auth.User", "Who may sign in here"),
    ],
    "Trail": [
        Page(
            "Audit events",
            "history",
            "audit.AuditEvent",
            "Who did what and when; nothing here is ever changed",
        ),
    ],
}


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Group the pages that somebody may see by the job that they serve."""
    groups = [
        {
            "title": title,
            "items": [_item(page) for page in pages if _is_open(page, request)],
        }
        for title, pages in PAGES.items()
    ]
    return [group for group in groups if group["items"]]


def stylesheet(request: HttpRequest) -> str:
    """Return where the few rules of our own are."""
    return static("tenants/console.css")


def favicon(request: HttpRequest) -> str:
    """Return where the icon of the browser's tab is."""
    return static("tenants/favicon.svg")


def _is_open(page: Page, request: HttpRequest) -> bool:
    model_admin = admin.site.get_model_admin(apps.get_model(page.model))
    return model_admin.has_view_permission(request)


def _item(page: Page) -> dict[str, str]:
    model = page.model.replace(".", "_").lower()
    return {
        "title": page.title,
        "icon": page.icon,
        "link": reverse(f"admin:{model}_changelist"),
        "purpose": page.purpose,
    }


class ConsoleSite(AdminSite):
    """The site that the apps' admin modules register with."""

    index_title = "Console"
    index_template = "tenants/admin/index.html"

    def record(
        self, *, kind: str, tenant_id: int, actor: str, detail: Mapping[str, object]
    ) -> None:
        """Write what somebody did, for pages of apps below the audit trail."""
        event = AuditRecord(
            kind=EventKind(kind), tenant_id=tenant_id, actor=actor, detail=detail
        )
        with server_cursor() as cursor:
            record_events(cursor, [event])

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        return _confined(super().admin_view(view, cacheable))

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return _confined(super().login)(request, extra_context)


def _confined(view: View) -> View:
    @wraps(view)
    def confined(*args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(*args, **kwargs)
        response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return response

    return cast("View", confined)
