"""One message to one address: where it stands and what it went through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from foundation.ids import public_id
from foundation.sealing import SealBroken
from notifications.admin.explaining import (
    DELIVERY_LABELS,
    notification_link,
    trail,
)
from notifications.models import Delivery, Notification
from preferences.profiles import load_profiles
from providers.channels import Channel
from tenants import data_keys
from tenants.admin.acts import Act, within
from tenants.admin.masking import mask_address
from tenants.admin.newest_first import (
    NEWEST,
    NewestFirstAdmin,
    Search,
    by,
    by_sibling,
)
from tenants.admin.presenting import Table, label, words
from tenants.admin.scoping import TenantFilter


@admin.register(Delivery)
class DeliveryAdmin(NewestFirstAdmin):
    """Found by its own id or its notification's; no index would serve a filter."""

    searches: ClassVar[Mapping[str, Search]] = {
        "dlv": by("pk"),
        "ntf": by_sibling("pk", "notification_id"),
    }
    list_display = (
        "shown_id",
        "shown_status",
        "tenant",
        "channel",
        "attempt_count",
        "shown_reason",
        "code",
        "provider",
        "updated_at",
    )
    fields = (
        ("shown_id", "shown_status", "tenant"),
        ("notification", "channel", "address"),
        ("shown_reason", "code", "attempt_count"),
        ("provider", "provider_message_id", "doubt"),
        ("updated_at", "finished_at"),
        ("retry_until", "expires_at"),
    )

    def newest(
        self, request: HttpRequest, queryset: QuerySet[Delivery]
    ) -> QuerySet[Delivery]:
        """Go through the newest notifications: they are indexed by tenant.

        Deliveries are not, and a quiet tenant's would be looked for in all history.
        """
        chosen = request.GET.get(TenantFilter.parameter_name, "")
        if request.user.is_superuser and not chosen:
            return queryset
        notifications = within(
            Notification.objects.order_by("-pk"),
            request.user,
            Act.LOOK,
            tenant_path="tenant_id",
        )
        if chosen.isdecimal():
            notifications = notifications.filter(tenant_id=chosen)
        return queryset.filter(notification_id__in=notifications.values("pk")[:NEWEST])

    @admin.display(description="delivery")
    def shown_id(self, obj: Delivery) -> str:
        """Show the public id."""
        return public_id("dlv", obj.pk)

    @admin.display(description="status")
    def shown_status(self, obj: Delivery) -> str:
        """Show the status as a label."""
        return label(obj.status, DELIVERY_LABELS)

    @admin.display(description="notification")
    def notification(self, obj: Delivery) -> str:
        """Link to what it is a part of."""
        return notification_link(obj.notification_id)

    @admin.display(description="reason")
    def shown_reason(self, obj: Delivery) -> str:
        """Show why it is where it is."""
        return words(obj.reason)

    @admin.display(description="in doubt")
    def doubt(self, obj: Delivery) -> str:
        """Tell whether the person may have the message without our knowing."""
        return "may have been sent" if obj.maybe_sent else "no"

    @admin.display(description="address")
    def address(self, obj: Delivery) -> str:
        """Show enough of the address to recognise it."""
        try:
            return _masked_address(obj)
        except SealBroken:
            return "cannot be read"

    def tables(self, obj: Delivery) -> list[Table]:
        """Show the trail of the whole notification: channels explain each other."""
        return [
            trail(
                tenant_id=obj.tenant_id,
                notification_id=obj.notification_id,
                about=obj.pk,
            )
        ]


def _masked_address(delivery: Delivery) -> str:
    if delivery.address_sealed is not None:
        plaintext = data_keys.unseal(
            tenant_id=delivery.tenant_id,
            table="delivery",
            row=delivery.pk,
            sealed=bytes(delivery.address_sealed),
        )
        return mask_address(plaintext.decode())
    user_id = Notification.objects.values_list("user_id", flat=True).get(
        pk=delivery.notification_id, tenant_id=delivery.tenant_id
    )
    channel = Channel(delivery.channel)
    if channel is Channel.IN_APP:
        return user_id
    person = (delivery.tenant_id, user_id)
    for known in load_profiles([person])[person].addresses.get(channel, ()):
        if known.id == delivery.address_id:
            return mask_address(known.value)
    return "no longer this person's" if delivery.address_id else "none was known"
