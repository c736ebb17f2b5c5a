"""Templates: a name that services ask for, and the versions it has had."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import admin
from django.db.models import Max, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.widgets import UnfoldAdminSelectWidget

from templates.admin.version_actions import LABELS
from templates.copying import copy_version
from templates.models import Template, TemplateVersion
from templates.publishing import create_version
from tenants.admin.acts import Act, actor_of
from tenants.admin.presenting import Table, label, link_to, moment
from tenants.admin.scoping import TenantFilter, TenantScopedAdmin
from tenants.admin.typed import ModelForm
from tenants.category_catalog import UnknownCategory, find_category
from tenants.models import TenantCategory

_EMPTY_SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


class TemplateForm(ModelForm):
    """A template of one of its tenant's categories."""

    category = forms.ChoiceField(widget=UnfoldAdminSelectWidget)

    class Meta:
        model = Template
        fields = ("tenant", "name", "category", "description")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "category" in self.fields:
            tenants = cast("Any", self.fields["tenant"]).queryset
            names = TenantCategory.objects.filter(tenant__in=tenants)
            self.fields["category"].choices = [  # type: ignore[attr-defined]
                (name, name)
                for name in names.order_by("name")
                .values_list("name", flat=True)
                .distinct()
            ]

    def clean(self) -> None:
        """Refuse the category of another tenant."""
        super().clean()
        tenant, name = (self.cleaned_data.get(each) for each in ("tenant", "category"))
        if tenant is None or name is None:
            return
        try:
            find_category(tenant_id=tenant.pk, name=name)
        except UnknownCategory:
            self.add_error("category", "The tenant has no such category.")


@admin.register(Template)
class TemplateAdmin(TenantScopedAdmin):
    """Tenant, name and category are chosen once: notifications rely on them."""

    add_act = Act.WRITE_TEMPLATES
    change_act = Act.WRITE_TEMPLATES
    form = TemplateForm
    acts_of_actions = {"new_version": Act.WRITE_TEMPLATES}
    actions = ("new_version",)
    ordering = ("name", "pk")
    list_display = ("name", "tenant", "category", "approved", "drafts", "description")
    list_select_related = ("tenant",)
    list_filter = (TenantFilter, "category")
    search_fields = ("name",)
    fields = ("tenant", "name", "category", "description")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> tuple[str, ...]:
        """Keep what notifications were accepted with."""
        return () if obj is None else ("tenant", "name", "category")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        approved = Q(versions__status=TemplateVersion.Status.APPROVED)
        newest = Max("versions__number", filter=approved)
        unapproved = Q(versions__content_hash__isnull=True)
        draft = Max("versions__number", filter=unapproved)
        rows: QuerySet[Model] = (
            super().get_queryset(request).annotate(newest=newest, draft=draft)
        )
        return rows

    @admin.display(description="in use")
    def approved(self, obj: Template) -> str:
        """Name the version that a service gets which asks for none."""
        number = vars(obj)["newest"]
        return f"version {number}" if number else "-"

    @admin.display(description="being written or reviewed")
    def drafts(self, obj: Template) -> str:
        """Name the newest version that is not approved yet."""
        number = vars(obj)["draft"]
        return f"version {number}" if number else "-"

    def tables(self, obj: Template) -> list[Table]:
        """List the versions, newest first."""
        return [
            Table(
                title="Versions",
                headers=["Version", "Status", "Approved by", "Approved at (UTC)"],
                rows=[
                    [
                        link_to("templates_templateversion", version.pk, str(version)),
                        label(version.status, LABELS),
                        version.approved_by,
                        moment(version.approved_at),
                    ]
                    for version in obj.versions.order_by("-number")
                ],
            )
        ]

    @admin.action(description="New version")
    def new_version(
        self, request: HttpRequest, queryset: QuerySet[Template]
    ) -> HttpResponse | None:
        """Start a draft that begins as the newest version left off."""
        chosen = [
            row for row in queryset if self.allows(request, Act.WRITE_TEMPLATES, row)
        ]
        if len(chosen) != 1:
            self.message_user(request, "Choose one template to start a version of.")
            return None
        draft = _draft_of(chosen[0], actor=actor_of(request.user))
        return HttpResponseRedirect(
            reverse("admin:templates_templateversion_change", args=(draft.pk,))
        )


def _draft_of(template: Template, *, actor: str) -> TemplateVersion:
    newest = template.versions.order_by("-number").first()
    if newest is None:
        return create_version(template=template, schema=_EMPTY_SCHEMA, actor=actor)
    return copy_version(source=newest, actor=actor)
