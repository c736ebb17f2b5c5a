"""Records of the broker that name no delivery, for the operators of the platform."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from notifications.models import RejectedRecord

SHOWN_OCTETS = 64


@admin.register(RejectedRecord)
class RejectedRecordAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """They belong to no tenant: superusers alone see them, and nobody changes one."""

    list_display = (
        "topic",
        "partition",
        "record_offset",
        "reason",
        "size",
        "created_at",
    )
    list_filter = ("topic", "reason")
    ordering = ("-id",)
    fields = (
        ("topic", "partition", "record_offset"),
        ("reason", "size", "created_at"),
        "beginning",
    )

    @admin.display(description="begins with")
    def beginning(self, obj: RejectedRecord) -> str:
        """Show its first octets in hexadecimal."""
        return bytes(obj.octets)[:SHOWN_OCTETS].hex(" ")

    def has_view_permission(
        self, request: HttpRequest, obj: RejectedRecord | None = None
    ) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(
        self, request: HttpRequest, obj: RejectedRecord | None = None
    ) -> bool:
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: RejectedRecord | None = None
    ) -> bool:
        return self.has_view_permission(request, obj)
