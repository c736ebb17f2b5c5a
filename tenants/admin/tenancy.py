"""Tenants: taken on board by a form, never deleted. Nobody is shown their data keys."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from tenants.admin.acts import Act
from tenants.admin.presenting import label
from tenants.admin.scoping import TenantScopedAdmin
from tenants.admin.typed import ModelForm
from tenants.models import Tenant
from tenants.onboarding import Home, create_tenant


class TenantForm(ModelForm):
    """A tenant; the database would take any text for a time zone, and fail later."""

    class Meta:
        model = Tenant
        fields = (
            "slug",
            "name",
            "status",
            "default_locale",
            "default_region",
            "time_zone",
        )

    def clean_time_zone(self) -> str:
        """Refuse what quiet hours could not be reckoned in."""
        name: str = self.cleaned_data["time_zone"]
        if name not in available_timezones():
            raise forms.ValidationError("Name a time zone like Asia/Ho_Chi_Minh.")
        return name


@admin.register(Tenant)
class TenantAdmin(TenantScopedAdmin):
    """Superusers take tenants on board and suspend them; others look at their own."""

    tenant_path = "pk"
    add_act = Act.KEEP_TENANTS
    change_act = Act.KEEP_TENANTS
    form = TenantForm
    ordering = ("slug",)
    list_display = ("slug", "name", "shown_status", "default_locale", "time_zone")
    search_fields = ("slug", "name")

    @admin.display(description="status")
    def shown_status(self, obj: Tenant) -> str:
        """Show the status as a label."""
        return label(obj.status, {"active": "success", "suspended": "warning"})

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Show a new tenant's form without a status: it starts active."""
        who = ("slug", "name") if obj is None else ("slug", "name", "status")
        home = ("default_locale", "default_region", "time_zone")
        return ((None, {"fields": who}), ("Where its people are", {"fields": home}))

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> tuple[str, ...]:
        """Keep the slug: others have written it down."""
        return () if obj is None else ("slug",)

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        """Make a new tenant together with its keys."""
        if change:
            super().save_model(request, obj, form, change)
            return
        home = Home(
            locale=obj.default_locale,
            region=obj.default_region,
            time_zone=obj.time_zone,
        )
        obj.pk = create_tenant(slug=obj.slug, name=obj.name, home=home).pk
        self.record(
            request,
            kind="tenant.created",
            tenant_id=obj.pk,
            detail={"slug": obj.slug},
        )
