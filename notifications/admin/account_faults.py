"""Provider accounts that refuse us, for the operators of the platform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from foundation.statements import server_cursor
from notifications.models import DeadLetter
from providers.account_faults import probe_now
from providers.models import AccountFault
from tenants.admin.presenting import label


@admin.register(AccountFault)
class AccountFaultAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """Accounts belong to the platform: superusers alone see them."""

    actions = ("probe",)
    list_display = (
        "provider",
        "state",
        "code",
        "waiting",
        "first_at",
        "last_at",
        "next_probe_at",
    )
    list_display_links = None
    ordering = ("provider",)

    @admin.display(description="state")
    def state(self, obj: AccountFault) -> str:
        """Show whether it is mended."""
        state = "resting" if obj.mended_at is None else "mended"
        return label(state, {"resting": "danger", "mended": "success"})

    @admin.display(description="messages waiting")
    def waiting(self, obj: AccountFault) -> int:
        """Count what goes on once it is mended."""
        return DeadLetter.objects.filter(
            provider=obj.provider, reason="account_fault", status="parked"
        ).count()

    @admin.action(description="Send the next message there to see if it is mended")
    def probe(self, request: HttpRequest, queryset: QuerySet[AccountFault]) -> None:
        """Have the next message probe these accounts."""
        providers: Sequence[str] = list(queryset.values_list("provider", flat=True))
        with server_cursor() as cursor:
            probe_now(cursor, providers)
        messages.success(
            request, f"The next message for {', '.join(providers)} is sent there."
        )

    def has_view_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return False

    def get_actions(self, request: HttpRequest) -> Any:
        return super().get_actions(request) if self.has_view_permission(request) else {}
