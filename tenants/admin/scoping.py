"""The base of every page of the console: people see the rows of their own tenants.

The only reads across tenants outside the workers are those of superusers here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, cast

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.forms import ModelChoiceField
from django.http import Http404, HttpRequest, HttpResponse

from tenants.admin.acts import Act, actor_of, may, within
from tenants.admin.presenting import Table
from tenants.admin.typed import ModelAdmin
from tenants.models import Tenant


class RecordsActs(Protocol):
    """What the console's site does for pages below the audit trail's layer."""

    def record(
        self, *, kind: str, tenant_id: int, actor: str, detail: Mapping[str, object]
    ) -> None: ...


class TenantScopedAdmin(ModelAdmin):
    """Rows of other tenants do not exist: in lists, by URL, in actions, in choices.

    Each verb names the act that it takes; None is for nobody, superusers included.
    """

    tenant_path: ClassVar[str] = "tenant_id"
    view_act: ClassVar[Act] = Act.LOOK
    add_act: ClassVar[Act | None] = None
    change_act: ClassVar[Act | None] = None
    delete_act: ClassVar[Act | None] = None
    # What each action takes; the list offers it, and the page of a row as a button.
    acts_of_actions: ClassVar[Mapping[str, Act]] = {}
    change_form_outer_before_template = "tenants/admin/page_actions.html"
    change_form_outer_after_template = "tenants/admin/tables.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        return within(
            super().get_queryset(request),
            request.user,
            self.view_act,
            tenant_path=self.tenant_path,
        )

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Model:
        # Django would redirect to the index and say in words what the id was.
        found: Model | None = super().get_object(request, object_id, from_field)
        if found is None:
            raise Http404
        return found

    def has_view_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return self.allows(request, self.view_act, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.allows(request, self.add_act)

    def has_change_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return self.allows(request, self.change_act, obj)

    def has_delete_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return self.allows(request, self.delete_act, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.allows(request, self.view_act)

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        if db_field.related_model is Tenant and self.add_act is not None:
            kwargs["queryset"] = within(
                Tenant.objects.order_by("slug"),
                request.user,
                self.add_act,
                tenant_path="pk",
            )
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def tables(self, obj: Any) -> Sequence[Table]:
        """Return what the page of a row shows below its fields."""
        return ()

    def is_offered(self, action: str, obj: Any) -> bool:
        """Tell whether an action makes sense for a row as it stands."""
        return True

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer what somebody may do for any tenant; each action sorts out the rest."""
        return {
            name: action
            for name, action in super().get_actions(request).items()
            if self.allows(request, self.acts_of_actions.get(name))
        }

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        obj = kwargs.get("obj")
        context["show_save_and_add_another"] = False
        context["show_save_and_continue"] = False
        context["tables"] = [] if obj is None else self.tables(obj)
        context["page_actions"] = [
            {"name": name, "label": label}
            for _, name, label in self.get_actions(request).values()
            if obj is not None
            and self.is_offered(name, obj)
            and self.allows(request, self.acts_of_actions[name], obj)
        ]
        return super().render_change_form(request, context, *args, **kwargs)

    def record(
        self,
        request: HttpRequest,
        *,
        kind: str,
        tenant_id: int,
        detail: Mapping[str, object],
    ) -> None:
        """Write what somebody did into the audit trail."""
        cast("RecordsActs", self.admin_site).record(
            kind=kind, tenant_id=tenant_id, actor=actor_of(request.user), detail=detail
        )

    def tenant_of(self, obj: Model) -> int:
        """Return the tenant that a row belongs to."""
        found: Any = obj
        for name in self.tenant_path.split("__"):
            found = getattr(found, name)
        return int(found)

    def allows(
        self, request: HttpRequest, act: Act | None, obj: Model | None = None
    ) -> bool:
        """Tell whether somebody may do this to a row, or (None) to any at all."""
        if act is None:
            return False
        tenant_id = None if obj is None else self.tenant_of(obj)
        return may(request.user, act, tenant_id=tenant_id)


class TenantFilter(admin.SimpleListFilter):
    """One of the tenants that somebody may look at; needless for who has only one."""

    title = "tenant"
    parameter_name = "tenant"

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> list[tuple[str, str]]:
        tenants = within(
            Tenant.objects.order_by("slug"), request.user, Act.LOOK, tenant_path="pk"
        )
        return [(str(pk), slug) for pk, slug in tenants.values_list("pk", "slug")]

    def has_output(self) -> bool:
        return len(self.lookup_choices) > 1

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if chosen is None:
            return queryset
        known = {value for value, _ in self.lookup_choices}
        return queryset.filter(tenant_id=chosen) if chosen in known else queryset.none()
