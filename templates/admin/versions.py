"""Versions of templates: drafts can be written, what was approved only looked at."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminTextareaWidget

from providers.channels import Channel
from templates.approval import find_problems
from templates.catalog import PinnedVersion, pin
from templates.locales import MalformedLocale, canonical_locale
from templates.models import TemplateVersion
from templates.publishing import (
    ApprovalRefused,
    NotADraft,
    NotApproved,
    approve,
    retire,
)
from templates.rendering import RenderFailed, render
from tenants.admin.acts import Act, actor_of
from tenants.admin.presenting import Table, in_reading_order, label, link_to
from tenants.admin.scoping import TenantScopedAdmin
from tenants.admin.typed import ModelForm

LABELS = {"draft": "info", "approved": "success"}


class LaidOutJSONField(forms.JSONField):
    """JSON for people to read and write."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 14, "style": "max-width: 42rem"})

    def prepare_value(self, value: Any) -> Any:
        """Lay it out, unless it is what somebody has just typed."""
        if value is None or isinstance(value, str):
            return value
        return json.dumps(value, indent=2, ensure_ascii=False)


class VersionForm(ModelForm):
    """What a draft's texts may use, and where the search for a locale ends."""

    schema = LaidOutJSONField(help_text="JSON Schema of the variables.")
    sample = LaidOutJSONField(
        required=False, help_text="Variables to try the contents with."
    )

    class Meta:
        model = TemplateVersion
        fields = ("default_locale", "schema", "sample")

    def clean_default_locale(self) -> str:
        """Write the locale as everywhere else."""
        try:
            return canonical_locale(self.cleaned_data["default_locale"])
        except MalformedLocale as malformed:
            raise forms.ValidationError(MalformedLocale.__doc__ or "") from malformed


@admin.register(TemplateVersion)
class TemplateVersionAdmin(TenantScopedAdmin):
    """Versions begin on their template's page."""

    form = VersionForm
    tenant_path = "template__tenant_id"
    change_act = Act.WRITE_TEMPLATES
    acts_of_actions = {
        "approve": Act.APPROVE_TEMPLATES,
        "retire": Act.APPROVE_TEMPLATES,
    }
    actions = ("approve", "retire")
    change_form_outer_after_template = "templates/admin/version.html"
    ordering = ("template__name", "-number")
    list_display = ("shown_name", "tenant", "shown_status", "approved_by")
    list_select_related = ("template__tenant",)
    list_filter = ("status",)
    search_fields = ("template__name",)
    readonly_fields = ("template_link", "shown_status", "approval")
    fields = (*readonly_fields, *VersionForm.Meta.fields)

    def has_change_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        """Let drafts be written; the database keeps the others as they were."""
        is_final = isinstance(obj, TemplateVersion) and obj.status != "draft"
        return not is_final and super().has_change_permission(request, obj)

    def is_offered(self, action: str, obj: TemplateVersion) -> bool:
        return {"approve": "draft", "retire": "approved"}[action] == obj.status

    @admin.display(description="version")
    def shown_name(self, obj: TemplateVersion) -> str:
        """Name the template and the number."""
        return f"{obj.template.name} v{obj.number}"

    @admin.display(description="tenant")
    def tenant(self, obj: TemplateVersion) -> str:
        """Name the tenant of the template."""
        return obj.template.tenant.slug

    @admin.display(description="status")
    def shown_status(self, obj: TemplateVersion) -> str:
        """Show the status as a label."""
        return label(obj.status, LABELS)

    @admin.display(description="template")
    def template_link(self, obj: TemplateVersion) -> str:
        """Link to the template."""
        template = obj.template
        link = link_to("templates_template", template.pk, template.name)
        return format_html("{}, version {}", link, obj.number)

    @admin.display(description="approved")
    def approval(self, obj: TemplateVersion) -> str:
        """Tell who answers for it, since when."""
        if obj.approved_at is None:
            return "not yet"
        return f"by {obj.approved_by}, {obj.approved_at:%Y-%m-%d %H:%M} UTC"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        version = kwargs.get("obj")
        if version is not None:
            context["previews"] = _previews(version)
            if self.has_change_permission(request, version):
                url = reverse("admin:templates_templatecontent_add")
                context["add_content_url"] = f"{url}?version={version.pk}"
        return super().render_change_form(request, context, *args, **kwargs)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        """Stay: the page says what still stands against the draft's approval."""
        return HttpResponseRedirect(request.path)

    def tables(self, obj: TemplateVersion) -> list[Table]:
        """Say what stands against approving a draft."""
        if obj.status != TemplateVersion.Status.DRAFT:
            return []
        problems = find_problems(obj, list(obj.contents.order_by("channel", "locale")))
        if not problems:
            return []
        rows = [[problem.where, problem.message] for problem in problems]
        title = "What stands against its approval"
        return [Table(title=title, headers=["Where", "What"], rows=rows)]

    @admin.action(description="Approve")
    def approve(
        self, request: HttpRequest, queryset: QuerySet[TemplateVersion]
    ) -> None:
        """Make drafts usable and unchangeable."""
        for version in self._allowed(request, queryset):
            try:
                approve(version=version, actor=actor_of(request.user))
            except ApprovalRefused as refused:
                reasons = "; ".join(map(str, refused.problems))
                self._say(request, version, f"not approved: {reasons}", messages.ERROR)
            except NotADraft:
                self._say(request, version, "is not a draft", messages.WARNING)
            else:
                self._say(request, version, "approved")

    @admin.action(description="Retire")
    def retire(self, request: HttpRequest, queryset: QuerySet[TemplateVersion]) -> None:
        """Take no new notifications for versions; those accepted are still sent."""
        for version in self._allowed(request, queryset):
            try:
                retire(version=version, actor=actor_of(request.user))
            except NotApproved:
                self._say(request, version, "is not approved", messages.WARNING)
            else:
                self._say(request, version, "retired")

    def _allowed(
        self, request: HttpRequest, queryset: QuerySet[TemplateVersion]
    ) -> list[TemplateVersion]:
        act = Act.APPROVE_TEMPLATES
        return [version for version in queryset if self.allows(request, act, version)]

    def _say(
        self,
        request: HttpRequest,
        version: TemplateVersion,
        what: str,
        level: int = messages.SUCCESS,
    ) -> None:
        name = self.shown_name(version)
        self.message_user(request, f"{name} {what}.", level)


def _previews(version: TemplateVersion) -> list[dict[str, object]]:
    """Show the contents with the sample, or as they were written."""
    contents = list(version.contents.order_by("channel", "locale"))
    is_draft = version.status == TemplateVersion.Status.DRAFT
    broken = is_draft and find_problems(version, contents)
    sample = None if broken else version.sample
    pinned = pin(version, contents)
    return [
        {
            "pk": content.pk,
            "title": f"{content.get_channel_display()}, {content.locale}",
            "parts": in_reading_order(
                _render(pinned, content.channel, content.locale, sample)
                or content.sent_parts
            ),
        }
        for content in contents
    ]


def _render(
    pinned: PinnedVersion, channel: int, locale: str, sample: dict[str, Any] | None
) -> dict[str, str] | None:
    """Render with the sample; None where there is none, or it does not fit."""
    if sample is None:
        return None
    try:
        rendered = render(
            pinned, channel=Channel(channel), locale=locale, variables=sample
        )
    except RenderFailed:
        return None
    return rendered.parts
