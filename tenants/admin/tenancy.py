"""Tenants: taken on board by a form, never deleted. Nobody is shown their data keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from foundation.quiet_windows import UnreadableLines, read_lines
from tenants.admin.acts import Act
from tenants.admin.presenting import Table, label, moment, words
from tenants.admin.scoping import TenantScopedAdmin
from tenants.admin.typed import ModelForm
from tenants.categories import CATEGORY_CHOICES
from tenants.daily_quotas import taken_today
from tenants.limits import LIMIT_FIELDS, MILLIONTHS, QUOTA_FIELDS, SMS_SPEND
from tenants.models import Tenant
from tenants.onboarding import Home, create_tenant


class TenantForm(ModelForm):
    """A tenant; the database would take any text for a time zone, and fail later."""

    ordered_categories = forms.MultipleChoiceField(
        choices=CATEGORY_CHOICES,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        required=False,
        help_text=Tenant._meta.get_field("ordered_categories").help_text,
    )

    class Meta:
        model = Tenant
        fields = (
            "slug",
            "name",
            "status",
            "default_locale",
            "default_region",
            "time_zone",
            "quiet_hours",
            *LIMIT_FIELDS,
            "transliterates_sms",
            "checks_sizes",
            "ordered_categories",
            "reviews_templates",
        )

    def clean_time_zone(self) -> str:
        """Refuse what quiet hours could not be reckoned in."""
        name: str = self.cleaned_data["time_zone"]
        if name not in available_timezones():
            raise forms.ValidationError("Name a time zone like Asia/Ho_Chi_Minh.")
        return name

    def clean_quiet_hours(self) -> str:
        """Refuse what nobody could read, and what would let nothing out."""
        lines: str = self.cleaned_data["quiet_hours"]
        try:
            read_lines(lines)
        except UnreadableLines as unreadable:
            raise forms.ValidationError(str(unreadable)) from unreadable
        return lines


# What the trail tells of a change, by the kind of the event.
_TOLD = {
    "tenant.limits_changed": LIMIT_FIELDS,
    "tenant.order_changed": ("ordered_categories",),
    "tenant.quiet_hours_changed": ("quiet_hours",),
    "tenant.alphabet_changed": ("transliterates_sms",),
    "tenant.size_check_changed": ("checks_sizes",),
    "tenant.review_changed": ("reviews_templates",),
}


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
        """Show a new tenant's form without what it starts with: active, unlimited."""
        who = ("slug", "name") if obj is None else ("slug", "name", "status")
        home = ("default_locale", "default_region", "time_zone")
        limits = ("Limits", {"fields": LIMIT_FIELDS})
        quiet = ("Quiet hours", {"fields": ("quiet_hours",)})
        texts = ("Messages", {"fields": ("checks_sizes", "transliterates_sms")})
        order = ("Strict order", {"fields": ("ordered_categories",)})
        review = ("Templates", {"fields": ("reviews_templates",)})
        return (
            (None, {"fields": who}),
            ("Where its people are", {"fields": home}),
            *(() if obj is None else (quiet, limits, texts, order, review)),
        )

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> tuple[str, ...]:
        """Keep the slug: others have written it down."""
        return () if obj is None else ("slug",)

    def tables(self, obj: Tenant) -> Sequence[Table]:
        """Show what is used up of the tenant's day."""
        day, taken = taken_today(tenant_id=obj.pk, time_zone=obj.time_zone)
        quotas = {
            channel: getattr(obj, field) for channel, field in QUOTA_FIELDS.items()
        }
        spent = taken.get(SMS_SPEND, 0) / MILLIONTHS
        return (
            Table(
                title=f"Messages of {day.date}, until {moment(day.ends_at)} UTC",
                headers=("Channel", "Used, and held ready by processes", "Daily quota"),
                rows=[
                    (words(channel), *_of_quota(quota, taken.get(channel, 0)))
                    for channel, quota in quotas.items()
                ],
            ),
            Table(
                title="Cost of today's text messages, by the platform's prices",
                headers=("Spent, and held ready by processes", "Cap"),
                rows=[_of_quota(obj.daily_sms_spend_cap, spent)],
            ),
        )

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        """Make a new tenant together with its keys."""
        if change:
            super().save_model(request, obj, form, change)
            self._record_changes(request, obj, form)
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

    def _record_changes(self, request: HttpRequest, obj: Tenant, form: Any) -> None:
        for kind, fields in _TOLD.items():
            detail: dict[str, object] = {}
            for name in [each for each in fields if each in form.changed_data]:
                detail |= {name: getattr(obj, name), f"{name}_was": form.initial[name]}
            if detail:
                self.record(request, kind=kind, tenant_id=obj.pk, detail=detail)


def _of_quota(quota: int | None, taken: float) -> tuple[object, object]:
    """Show a channel's use; without a quota nobody counts."""
    return ("not counted", "none") if quota is None else (taken, quota)
