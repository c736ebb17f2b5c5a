"""Layouts of e-mails: each saving is a version, which nothing changes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextareaWidget

from templates.grammar import TextRefused
from templates.layouts import check_layout, save_layout
from templates.models import Layout
from tenants.admin.acts import Act, actor_of
from tenants.admin.scoping import TenantFilter, TenantScopedAdmin
from tenants.admin.typed import ModelForm


class LayoutForm(ModelForm):
    """A layout, or the next version of one that has the name already."""

    mjml = forms.CharField(
        label="MJML",
        strip=False,
        widget=UnfoldAdminTextareaWidget(
            attrs={"rows": 24, "style": "max-width: 42rem"}
        ),
        help_text="The whole letter, with {{ content }} where the sections of an e-mail"
        " are to be.",
    )

    class Meta:
        model = Layout
        fields = ("tenant", "name", "mjml")

    def clean_mjml(self) -> str:
        """Refuse what no letter could be made with."""
        mjml: str = self.cleaned_data["mjml"].replace("\r\n", "\n")
        try:
            check_layout(mjml)
        except TextRefused as refused:
            raise forms.ValidationError(f"Line {refused.line}: {refused}") from refused
        return mjml


@admin.register(Layout)
class LayoutAdmin(TenantScopedAdmin):
    """Approved letters keep the layouts that they were made with."""

    add_act = Act.WRITE_TEMPLATES
    form = LayoutForm
    acts_of_actions = {"new_version": Act.WRITE_TEMPLATES}
    actions = ("new_version",)
    ordering = ("name", "-number", "pk")
    list_display = ("__str__", "tenant", "edited_by", "created_at")
    list_select_related = ("tenant",)
    list_filter = (TenantFilter,)
    search_fields = ("name",)

    def get_fields(self, request: HttpRequest, obj: Any | None = None) -> Any:
        """Show who wrote a version, once there is one."""
        made = () if obj is None else ("number", "edited_by", "created_at")
        return ("tenant", "name", *made, "mjml")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Begin as another version of the same layout left off."""
        source = self.get_queryset(request).filter(pk=_number(request.GET.get("from")))
        return next(iter(source.values("tenant", "name", "mjml")), {})

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        saved = save_layout(**form.cleaned_data, actor=actor_of(request.user))
        obj.pk, obj.number = saved.pk, saved.number

    @admin.action(description="New version")
    def new_version(
        self, request: HttpRequest, queryset: QuerySet[Layout]
    ) -> HttpResponse | None:
        """Open the form with what a version says."""
        chosen = [
            row for row in queryset if self.allows(request, Act.WRITE_TEMPLATES, row)
        ]
        if len(chosen) != 1:
            self.message_user(request, "Choose one layout to begin from.")
            return None
        url = reverse("admin:templates_layout_add")
        return HttpResponseRedirect(f"{url}?from={chosen[0].pk}")


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 19 else 0
