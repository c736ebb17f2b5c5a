"""The ledger of consents: read for one person, and changed by nobody."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from foundation.user_ids import MalformedUserId, check_user_id
from preferences.consent import person_key_of
from preferences.models import ConsentEvent
from providers.channels import Channel
from tenants.admin.newest_first import NewestFirstAdmin, find_in_tenants
from tenants.admin.presenting import label, words


@admin.register(ConsentEvent)
class ConsentEventAdmin(NewestFirstAdmin):
    """Who is asked about is named: the ledger knows people by a keyed hash alone."""

    search_help_text: ClassVar[str] = "Whose: a whole user id"
    list_display = (
        "created_at",
        "tenant",
        "shown_change",
        "shown_category",
        "shown_channel",
        "source",
        "wording",
        "actor",
        "has_evidence",
    )
    list_display_links = None

    def newest(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Show nobody's until somebody is named."""
        return queryset.none()

    def find(
        self, request: HttpRequest, queryset: QuerySet[Any], term: str
    ) -> QuerySet[Any]:
        """Find what a person said, in each tenant that the reader may look at."""
        try:
            user_id = check_user_id(term)
        except MalformedUserId:
            return queryset.none()
        return find_in_tenants(
            request,
            queryset,
            lambda tenant: Q(
                tenant_id=tenant.pk, person_key=person_key_of(tenant.pk, user_id)
            ),
        )

    @admin.display(description="change")
    def shown_change(self, obj: ConsentEvent) -> str:
        """Show whether it was given or withdrawn."""
        return label(obj.change, {"given": "success", "withdrawn": "warning"})

    @admin.display(description="category")
    def shown_category(self, obj: ConsentEvent) -> str:
        """Name the category; none is all of them."""
        return obj.category or "everything"

    @admin.display(description="channel")
    def shown_channel(self, obj: ConsentEvent) -> str:
        """Name the channel."""
        return "-" if obj.channel is None else words(Channel(obj.channel).key)

    @admin.display(description="evidence", boolean=True)
    def has_evidence(self, obj: ConsentEvent) -> bool:
        """Tell whether something is kept sealed beside it."""
        return obj.evidence is not None
