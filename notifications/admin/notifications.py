"""What was accepted for whom, and what became of it on every channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from uuid import UUID

from django.contrib import admin
from django.db.models import (
    CharField,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Concat
from django.http import HttpRequest

from foundation.ids import public_id
from notifications.admin.explaining import (
    DELIVERY_LABELS,
    STATE_LABELS,
    delivery_link,
    trail,
)
from notifications.models import Delivery, Notification
from notifications.statuses import state_sql
from notifications.tracking import DeliveryStanding, read_standing
from templates.models import TemplateVersion
from tenants.admin.newest_first import NewestFirstAdmin, Search, by
from tenants.admin.presenting import Table, label, moment, words
from tenants.models import Tenant

# Each of the page's rows probes its own deliveries, by the leaves' unique index.
_STATE = state_sql(
    statuses="array_agg(d.status)",
    untouched="bool_and(d.claim_count = 0)",
    in_future="notification.send_at > app_now()",
)
_STATE_OF_ROW = f"""
SELECT {_STATE} FROM delivery d WHERE d.notification_id = notification.id
"""  # noqa: S608 - rules of this code


def _of_delivery(delivery_id: UUID) -> Q:
    of = Delivery.objects.filter(pk=delivery_id).values("notification_id")
    return Q(pk__in=of)


@admin.register(Notification)
class NotificationAdmin(NewestFirstAdmin):
    """Found by its own id, a delivery's id, or the user id of the person."""

    searches: ClassVar[Mapping[str, Search]] = {"ntf": by("pk"), "dlv": _of_delivery}
    search_help_text = "A whole id (ntf_…, dlv_…) or a whole user id"
    list_display = (
        "shown_id",
        "state",
        "tenant",
        "user_id",
        "template",
        "category",
        "priority",
        "test",
        "created_at",
    )
    fields = (
        ("shown_id", "state", "tenant"),
        ("user_id", "reference", "accepted_by"),
        ("template", "category", "priority"),
        ("created_at", "send_at", "expires_at"),
        ("locale", "test"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        version = TemplateVersion.objects.filter(pk=OuterRef("template_version_id"))
        name = Concat(
            "template__name", Value(" v"), Cast("number", output_field=CharField())
        )
        rows: QuerySet[Model] = (
            super()
            .get_queryset(request)
            .annotate(
                template_name=Subquery(version.values(shown=name)),
                state=RawSQL(_STATE_OF_ROW, [], output_field=TextField()),  # noqa: S611
            )
        )
        return rows

    def find(
        self, request: HttpRequest, queryset: QuerySet[Notification], term: str
    ) -> QuerySet[Notification]:
        """Find by id, or by whom it is for: support is asked about people."""
        if term.partition("_")[0] in self.searches:
            return super().find(request, queryset, term)
        # The index begins with the tenant.
        return queryset.filter(tenant_id__in=Tenant.objects.values("pk"), user_id=term)

    @admin.display(description="notification")
    def shown_id(self, obj: Notification) -> str:
        """Show the public id."""
        return public_id("ntf", obj.pk)

    @admin.display(description="state")
    def state(self, obj: Notification) -> str:
        """Show what the deliveries add up to."""
        return label(vars(obj)["state"], STATE_LABELS)

    @admin.display(description="test")
    def test(self, obj: Notification) -> str:
        """Mark what a test key sent: it went to the sandbox."""
        return label("test", {"test": "info"}) if obj.is_test else ""

    @admin.display(description="template")
    def template(self, obj: Notification) -> str:
        """Name the pinned version."""
        return vars(obj)["template_name"] or f"version {obj.template_version_id}"

    def tables(self, obj: Notification) -> list[Table]:
        """Show where each delivery stands, then the trail."""
        standing = read_standing(tenant_id=obj.tenant_id, notification_id=obj.pk)
        deliveries = Table(
            title="Deliveries",
            headers=[
                "Delivery",
                "Channel",
                "Status",
                "Attempts",
                "Why",
                "Provider",
                "Next attempt (UTC)",
            ],
            rows=[_row(delivery) for delivery in standing.deliveries],
        )
        return [
            deliveries,
            trail(tenant_id=obj.tenant_id, notification_id=obj.pk),
        ]


def _row(delivery: DeliveryStanding) -> list[object]:
    status = label(delivery.status, DELIVERY_LABELS)
    doubt = "may have been sent" if delivery.maybe_sent else ""
    why = ", ".join(filter(None, [words(delivery.reason), delivery.code, doubt]))
    return [
        delivery_link(delivery.id),
        delivery.channel.key,
        status,
        delivery.attempts,
        why,
        delivery.provider,
        moment(delivery.next_attempt_at),
    ]
