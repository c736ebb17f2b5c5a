"""What a tenant's templates are for: its own categories beside the built-in ones."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from tenants.admin.acts import Act
from tenants.admin.presenting import words
from tenants.admin.scoping import TenantFilter, TenantScopedAdmin
from tenants.admin.typed import ModelForm
from tenants.limits import QUOTA_FIELDS
from tenants.models import TenantCategory

_LANGUAGE = re.compile("[a-z]{2,3}")
_LONGEST_LABEL = 100
_CHANGEABLE = (
    "legal_class",
    "label",
    "labels",
    "off_by_default",
    "most_messages",
    "most_in_hours",
)


class CategoryForm(ModelForm):
    """A category; which channels are off for whoever has not chosen is ticked."""

    off_by_default = forms.MultipleChoiceField(
        choices=[(channel, words(channel)) for channel in QUOTA_FIELDS],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        required=False,
        help_text=TenantCategory._meta.get_field("off_by_default").help_text,
    )

    class Meta:
        model = TenantCategory
        fields = ("tenant", "name", "base", *_CHANGEABLE)

    def clean_labels(self) -> dict[str, str]:
        """Refuse what is no object of texts by language."""
        labels = self.cleaned_data["labels"] or {}
        if not isinstance(labels, dict):
            raise forms.ValidationError('Write languages and labels: {"vi": "…"}.')
        for language, text in labels.items():
            if not _LANGUAGE.fullmatch(language):
                raise forms.ValidationError(
                    f"{language[:20]!r} is no language like vi."
                )
            if not isinstance(text, str) or not 0 < len(text.strip()) <= _LONGEST_LABEL:
                raise forms.ValidationError(
                    f"The label of {language} has 1 to {_LONGEST_LABEL} characters."
                )
        return labels


@admin.register(TenantCategory)
class TenantCategoryAdmin(TenantScopedAdmin):
    """Name and base are chosen once; the trail tells what may be switched off."""

    add_act = Act.KEEP_CATEGORIES
    change_act = Act.KEEP_CATEGORIES
    form = CategoryForm
    ordering = ("tenant__slug", "name")
    list_display = ("name", "tenant", "label", "base", "legal_class", "off")
    list_select_related = ("tenant",)
    list_filter = (TenantFilter, "legal_class")
    search_fields = ("name", "label")

    @admin.display(description="off by default")
    def off(self, obj: TenantCategory) -> str:
        """Name the channels that people have to switch on."""
        return ", ".join(map(words, obj.off_by_default)) or "-"

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> tuple[str, ...]:
        """Keep what templates and preferences name."""
        return () if obj is None else ("tenant", "name", "base")

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        """Tell the trail what it is now, and what of it was otherwise."""
        super().save_model(request, obj, form, change)
        detail: dict[str, object] = {"category": obj.name, "base": obj.base}
        for name in _CHANGEABLE:
            detail[name] = getattr(obj, name)
            if change and name in form.changed_data:
                detail[f"{name}_was"] = form.initial[name]
        self.record(
            request,
            kind="tenant.category_changed" if change else "tenant.category_created",
            tenant_id=obj.tenant_id,
            detail=detail,
        )
