"""What the sandbox was given, as it would have looked, and tenants' own routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminSelectWidget

from foundation.ids import public_id
from foundation.sealing import SealBroken
from providers.base import Outcome
from providers.channels import Channel
from providers.models import ProviderRoute, SandboxMessage
from providers.sandbox_record import SandboxContent, read_content
from tenants.admin.acts import Act
from tenants.admin.masking import mask_address
from tenants.admin.newest_first import NewestFirstAdmin, Search, by, by_sibling
from tenants.admin.presenting import in_reading_order, label, link_to
from tenants.admin.scoping import TenantFilter, TenantScopedAdmin

_OUTCOMES: Mapping[str, str] = {
    Outcome.ACCEPTED: "success",
    Outcome.RATE_LIMITED: "info",
    Outcome.TRANSIENT_ERROR: "warning",
    Outcome.UNKNOWN: "warning",
    Outcome.REJECTED: "danger",
    Outcome.PERMANENT_ERROR: "danger",
}


@admin.register(SandboxMessage)
class SandboxMessageAdmin(NewestFirstAdmin):
    """One row for each attempt; the content is unsealed on its page alone."""

    change_form_outer_after_template = "providers/admin/content.html"
    searches: ClassVar[Mapping[str, Search]] = {
        "sbx": by("pk"),
        "dlv": by("delivery_id"),
        "ntf": by_sibling("delivery_id", "notification_id"),
    }
    search_help_text = "A whole id: sbx_…, dlv_… or ntf_…"
    list_display = (
        "shown_id",
        "shown_outcome",
        "tenant",
        "channel",
        "attempt",
        "delivery",
        "created_at",
    )
    fields = (
        ("shown_id", "shown_outcome", "tenant"),
        ("delivery", "channel", "attempt"),
        ("address", "accepted", "created_at"),
    )

    @admin.display(description="message")
    def shown_id(self, obj: SandboxMessage) -> str:
        """Show the public id."""
        return public_id("sbx", obj.pk)

    @admin.display(description="outcome")
    def shown_outcome(self, obj: SandboxMessage) -> str:
        """Show how the sandbox answered."""
        return label(obj.outcome, _OUTCOMES)

    @admin.display(description="delivery")
    def delivery(self, obj: SandboxMessage) -> str:
        """Link to the delivery that this was an attempt of."""
        text = public_id("dlv", obj.delivery_id)
        return link_to("notifications_delivery", obj.delivery_id, text)

    @admin.display(description="to")
    def address(self, obj: SandboxMessage) -> str:
        """Show enough of the address to recognise it."""
        content = _content(obj)
        return mask_address(content.address) if content and content.address else ""

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        content = _content(kwargs["obj"])
        context["content"] = content and in_reading_order(content.parts)
        return super().render_change_form(request, context, *args, **kwargs)


def _content(message: SandboxMessage) -> SandboxContent | None:
    try:
        return read_content(message)
    except SealBroken:
        return None


@admin.register(ProviderRoute)
class ProviderRouteAdmin(TenantScopedAdmin):
    """Superusers give a tenant providers of its own; others look."""

    add_act = Act.KEEP_TENANTS
    change_act = Act.KEEP_TENANTS
    delete_act = Act.KEEP_TENANTS
    list_display = ("tenant", "channel", "tier", "provider", "weight")
    list_filter = (TenantFilter, "channel")
    ordering = ("tenant", "channel", "tier", "provider")
    fields = ("tenant", "channel", "provider", "tier", "weight")

    def formfield_for_dbfield(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> Any:
        """Let providers be chosen: a name that is none would park deliveries."""
        if db_field.name != "provider":
            return super().formfield_for_dbfield(db_field, request, **kwargs)
        return forms.ChoiceField(
            choices=[("", ""), *((alias, alias) for alias in settings.PROVIDERS)],
            widget=UnfoldAdminSelectWidget,
        )

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        self._record_route(request, obj, act="changed" if change else "added")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        super().delete_model(request, obj)
        self._record_route(request, obj, act="deleted")

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for route in queryset:
            self.delete_model(request, route)

    def _record_route(
        self, request: HttpRequest, route: ProviderRoute, *, act: str
    ) -> None:
        self.record(
            request,
            kind="tenant.routes_changed",
            tenant_id=route.tenant_id,
            detail={
                "act": act,
                "channel": Channel(route.channel).key,
                "provider": route.provider,
                "tier": route.tier,
                "weight": route.weight,
            },
        )
