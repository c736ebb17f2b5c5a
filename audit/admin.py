"""The trail: what staff and services did. Nothing here can be changed by anybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from audit.models import AuditEvent
from foundation.ids import public_id
from tenants.admin.newest_first import NewestFirstAdmin, Search, by, by_sibling
from tenants.admin.presenting import link_to, on_one_line


@admin.register(AuditEvent)
class AuditEventAdmin(NewestFirstAdmin):
    """Acts of staff and services; a notification's events are found by its id."""

    searches: ClassVar[Mapping[str, Search]] = {
        "ntf": by("notification_id"),
        # There is an index on the notification, none on the delivery.
        "dlv": by_sibling("notification_id", "delivery_id"),
    }
    list_display = (
        "created_at",
        "kind",
        "tenant",
        "actor",
        "reason",
        "shown_detail",
        "about",
    )
    fields = (
        ("created_at", "kind", "tenant"),
        ("actor", "about", "reason"),
        "detail",
    )

    def newest(
        self, request: HttpRequest, queryset: QuerySet[AuditEvent]
    ) -> QuerySet[AuditEvent]:
        """Leave out the lives of notifications: their index finds what is in none.

        They are told on the notifications' own pages, and would bury everything else.
        """
        return queryset.filter(notification_id__isnull=True)

    @admin.display(description="detail")
    def shown_detail(self, obj: AuditEvent) -> str:
        """Write the details on one line."""
        return on_one_line(obj.detail)

    @admin.display(description="about")
    def about(self, obj: AuditEvent) -> str:
        """Link to what it is about."""
        if obj.delivery_id:
            text = public_id("dlv", obj.delivery_id)
            return link_to("notifications_delivery", obj.delivery_id, text)
        if obj.notification_id:
            text = public_id("ntf", obj.notification_id)
            return link_to("notifications_notification", obj.notification_id, text)
        return ""
