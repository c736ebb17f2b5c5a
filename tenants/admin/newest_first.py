"""Lists of tables that only grow: nothing is counted, sorted or filtered in full.

A list shows the newest rows, in the order of an index; whoever looks for an older one
knows its id. No statement here scans history, however long it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.utils.functional import cached_property

from foundation.ids import MalformedId, parse_public_id, sibling_bounds
from tenants.admin.acts import Act, within
from tenants.admin.scoping import TenantFilter, TenantScopedAdmin
from tenants.admin.typed import Paginator
from tenants.models import Tenant

# How far back a list goes, and what one action can take at most.
NEWEST = 500

Search = Callable[[UUID], Q]


def by(field: str) -> Search:
    """Find by an indexed field."""
    return lambda identifier: Q(**{field: identifier})


def by_sibling(indexed: str, exact: str) -> Search:
    """Find by a field without an index, through one that shares the id's timestamp."""

    def search(identifier: UUID) -> Q:
        low, high = sibling_bounds(identifier)
        return Q(**{f"{indexed}__gte": low, f"{indexed}__lt": high, exact: identifier})

    return search


def find_in_tenants(
    request: HttpRequest,
    queryset: QuerySet[Any],
    place: Callable[[Tenant], Q | None],
) -> QuerySet[Any]:
    """Find by what each tenant has a key of its own for, in all that the reader may
    look at; None is where it cannot be."""
    tenants = within(Tenant.objects.all(), request.user, Act.LOOK, tenant_path="pk")
    places = [found for tenant in tenants if (found := place(tenant)) is not None]
    return queryset.filter(reduce(or_, places)) if places else queryset.none()


class NewestPaginator(Paginator):
    """Counts by looking at no more than the newest rows."""

    newest = NEWEST
    template_name = "tenants/admin/newest_pagination.html"

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Model] = self.object_list  # type: ignore[assignment]  # the admin's
        return len(rows.values_list("pk")[:NEWEST])


class NewestFirst(ChangeList):
    """A list in the order of its primary key, whatever the URL asks for."""

    def get_ordering(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> list[str | Combinable]:
        return ["-pk"]

    def get_results(self, request: HttpRequest) -> None:
        """Leave out the invitation to show everything."""
        super().get_results(request)
        self.full_result_count = self.result_count


class NewestFirstAdmin(TenantScopedAdmin):
    """A big table, to be looked at and not to be touched."""

    paginator = NewestPaginator
    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 0
    sortable_by = ()
    compressed_fields = False
    list_filter: ClassVar[tuple[Any, ...]] = (TenantFilter,)
    search_fields = ("pk",)  # not read: it makes the search box appear
    search_help_text: ClassVar[str] = "A whole id: ntf_… or dlv_…"
    searches: ClassVar[Mapping[str, Search]] = {}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return NewestFirst

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        slug = Tenant.objects.filter(pk=OuterRef("tenant_id")).values("slug")
        rows: QuerySet[Model] = (
            super().get_queryset(request).annotate(tenant_slug=Subquery(slug))
        )
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return self.newest(request, queryset), False
        return self.find(request, queryset, term), False

    def newest(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Bound the list where the index of the order is not the tenant's own."""
        return queryset

    def find(
        self, request: HttpRequest, queryset: QuerySet[Any], term: str
    ) -> QuerySet[Any]:
        """Find a row by a whole id, and by nothing else."""
        prefix = term.partition("_")[0]
        try:
            identifier = parse_public_id(prefix, term)
        except MalformedId:
            return queryset.none()
        search = self.searches.get(prefix)
        return queryset.filter(search(identifier)) if search else queryset.none()

    def lookup_allowed(
        self, lookup: str, value: str, request: HttpRequest | None = None
    ) -> bool:
        # A hand-written ?status=dead would scan history.
        return lookup == TenantFilter.parameter_name

    @admin.display(description="tenant")
    def tenant(self, obj: Model) -> str:
        """Name the tenant of a row."""
        return str(vars(obj)["tenant_slug"])
