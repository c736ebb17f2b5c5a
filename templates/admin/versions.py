"""Versions of templates: drafts can be written, what was approved only looked at."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.html import format_html

from providers.channels import Channel
from templates.admin.comparison import ComparedVersions, others
from templates.admin.json_field import JSONObjectField
from templates.admin.previews import preview_page
from templates.admin.version_actions import LABELS, name_of
from templates.approval import Problem, find_problems
from templates.catalog import PinnedVersion, pin
from templates.locales import MalformedLocale, canonical_locale
from templates.models import TemplateVersion
from templates.publishing import edit_version
from templates.rendering import RenderFailed, render
from tenants.admin.acts import Act, actor_of
from tenants.admin.presenting import Table, in_reading_order, label, link_to
from tenants.admin.typed import ModelForm


class VersionForm(ModelForm):
    """What a draft's texts may use, and where the search for a locale ends."""

    schema = JSONObjectField(help_text="JSON Schema of the variables.")
    sample = JSONObjectField(
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
class TemplateVersionAdmin(ComparedVersions):
    """Versions begin on their template's page."""

    form = VersionForm
    tenant_path = "template__tenant_id"
    change_act = Act.WRITE_TEMPLATES
    change_form_outer_after_template = "templates/admin/version.html"
    ordering = ("template__name", "-number")
    list_display = ("shown_name", "tenant", "shown_status", "edited_by", "approved_by")
    list_select_related = ("template__tenant",)
    list_filter = ("status",)
    search_fields = ("template__name",)
    readonly_fields = (
        "template_link",
        "shown_status",
        "review_note",
        "edited_by",
        "approval",
    )

    def has_change_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        """Let drafts be written; the database keeps the others as they were."""
        is_final = isinstance(obj, TemplateVersion) and obj.status != "draft"
        return not is_final and super().has_change_permission(request, obj)

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Show why it was sent back, where it was."""
        noted = isinstance(obj, TemplateVersion) and obj.review_note
        known = [
            name for name in self.readonly_fields if noted or name != "review_note"
        ]
        return (*known, *VersionForm.Meta.fields)

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        edit_version(version=obj, **form.cleaned_data, actor=actor_of(request.user))

    @admin.display(description="version")
    def shown_name(self, obj: TemplateVersion) -> str:
        """Name the template and the number."""
        return name_of(obj)

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

    def get_urls(self) -> list[Any]:
        """Add the page on which the version's messages are seen."""
        preview = path(
            "<path:object_id>/preview/",
            self.admin_site.admin_view(self.preview),
            name="templates_templateversion_preview",
        )
        return [preview, *super().get_urls()]

    def preview(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show a version of a tenant that somebody may look at."""
        version = self.get_object(request, object_id)
        if not isinstance(version, TemplateVersion):
            raise Http404
        return preview_page(self, request, version)

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
        """Say what stands against approving it, and what it can be compared with."""
        return [table for table in (_hindrances(obj), others(obj)) if table.rows]


def _hindrances(version: TemplateVersion) -> Table:
    problems: list[Problem] = []
    if version.content_hash is None:
        contents = list(version.contents.order_by("channel", "locale"))
        problems = find_problems(version, contents)
    return Table(
        title="What stands against its approval",
        headers=["Where", "What"],
        rows=[[problem.where, problem.message] for problem in problems],
    )


def _previews(version: TemplateVersion) -> list[dict[str, object]]:
    """Show the contents with the sample, or as they were written."""
    contents = list(version.contents.order_by("channel", "locale"))
    # What was approved is shown as it was made then.
    broken = version.content_hash is None and find_problems(version, contents)
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
