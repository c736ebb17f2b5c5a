"""The texts of a draft for one channel in one locale: a field for each part."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from providers.channels import Channel
from templates.locales import MalformedLocale, canonical_locale
from templates.models import TemplateContent, TemplateVersion
from templates.parts import CHANNEL_PARTS, Kind, Part
from templates.publishing import add_content, remove_content
from tenants.admin.acts import Act, actor_of, within
from tenants.admin.presenting import link_to
from tenants.admin.scoping import TenantScopedAdmin
from tenants.admin.typed import ModelForm

_HINTS = {
    "mjml": "Instead of html, which is made of it at approval.",
    "layout": "Around mjml: its name, or name and version.",
    "text": "Made of the html where it is empty.",
}
_ROWS = {Kind.TEXT: 8, Kind.HTML: 16, Kind.JSON: 6}


class PlaceForm(ModelForm):
    """Where a new content belongs; its texts come next."""

    class Meta:
        model = TemplateContent
        fields = ("version", "channel", "locale")

    def clean_locale(self) -> str:
        """Write the locale as everywhere else."""
        try:
            return canonical_locale(self.cleaned_data["locale"])
        except MalformedLocale as malformed:
            raise forms.ValidationError(MalformedLocale.__doc__ or "") from malformed


def parts_form(content: TemplateContent) -> type[ModelForm]:
    """Make a form with a field for each part of the content's channel."""
    channel = Channel(content.channel)
    parts = CHANNEL_PARTS[channel].parts
    hints = _HINTS if channel is Channel.EMAIL else {}
    fields: dict[str, Any] = {
        name: _field(
            part, hint=hints.get(name, ""), initial=content.parts.get(name, "")
        )
        for name, part in parts.items()
    }
    meta = type("Meta", (), {"model": TemplateContent, "fields": ()})
    return type("PartsForm", (ModelForm,), {**fields, "Meta": meta})


def _field(part: Part, *, hint: str, initial: str) -> forms.CharField:
    rows = _ROWS.get(part.kind)
    widget = (
        UnfoldAdminTextareaWidget(attrs={"rows": rows, "style": "max-width: 42rem"})
        if rows
        else UnfoldAdminTextInputWidget(attrs={"style": "max-width: 42rem"})
    )
    return forms.CharField(
        required=False,
        strip=rows is None,
        initial=initial,
        widget=widget,
        help_text=hint or f"{part.kind}, at most {part.max_characters:,} characters",
    )


@admin.register(TemplateContent)
class TemplateContentAdmin(TenantScopedAdmin):
    """Reached from the page of a draft, and leads back to it."""

    tenant_path = "version__template__tenant_id"
    add_act = Act.WRITE_TEMPLATES
    change_act = Act.WRITE_TEMPLATES
    delete_act = Act.WRITE_TEMPLATES
    show_add_link = False
    ordering = ("version__template__name", "-version__number", "channel", "locale")
    list_display = ("shown_version", "channel", "locale")
    list_select_related = ("version__template",)
    readonly_fields = ("shown_version", "channel", "locale")

    def has_change_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return _is_draft(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return _is_draft(obj) and super().has_delete_permission(request, obj)

    @admin.display(description="version")
    def shown_version(self, obj: TemplateContent) -> str:
        """Link to the version."""
        version = obj.version
        text = f"{version.template.name} v{version.number}"
        return link_to("templates_templateversion", version.pk, text)

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> tuple[str, ...]:
        """Let a content stay where it was put."""
        return () if obj is None else ("shown_version", "channel", "locale")

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Ask for the place first, then for the texts that its channel knows."""
        if not isinstance(obj, TemplateContent):
            return PlaceForm.Meta.fields
        place = self.get_readonly_fields(request, obj)
        if not self.has_change_permission(request, obj):
            return (*place, "parts")
        return (*place, *CHANNEL_PARTS[Channel(obj.channel)].parts)

    def get_form(
        self,
        request: HttpRequest,
        obj: Any | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> type[ModelForm]:
        """Make the form for what get_fields asks for."""
        if obj is None:
            return super().get_form(request, obj, change, form=PlaceForm, **kwargs)
        if not self.has_change_permission(request, obj):
            return super().get_form(request, obj, change, **kwargs)
        return super().get_form(request, obj, change, form=parts_form(obj), **kwargs)

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> Any:
        """Offer the drafts of the tenants whose templates somebody may write."""
        kwargs["queryset"] = within(
            TemplateVersion.objects.filter(status=TemplateVersion.Status.DRAFT)
            .select_related("template")
            .order_by("template__name", "number"),
            request.user,
            Act.WRITE_TEMPLATES,
            tenant_path="template__tenant_id",
        )
        field: Any = super().formfield_for_foreignkey(db_field, request, **kwargs)
        field.label_from_instance = _name
        return field

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        """Set the texts; none yet where the place has just been chosen."""
        texts = form.cleaned_data if change else {}
        obj.pk = add_content(
            version=obj.version,
            channel=Channel(obj.channel),
            locale=obj.locale,
            parts={
                name: text.replace("\r\n", "\n")
                for name, text in texts.items()
                if text.strip()
            },
            actor=actor_of(request.user),
        ).pk

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        remove_content(content=obj, actor=actor_of(request.user))

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        url = reverse("admin:templates_templatecontent_change", args=(obj.pk,))
        return HttpResponseRedirect(url)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        url = reverse("admin:templates_templateversion_change", args=(obj.version_id,))
        return HttpResponseRedirect(url)


def _is_draft(content: Model | None) -> bool:
    if not isinstance(content, TemplateContent):
        return True
    return content.version.status == TemplateVersion.Status.DRAFT


def _name(version: TemplateVersion) -> str:
    return f"{version.template.name} v{version.number}"
