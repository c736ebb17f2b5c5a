"""Who may sign in to the console, and what for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from tenants.admin.acts import Act
from tenants.admin.presenting import label
from tenants.admin.scoping import TenantScopedAdmin
from tenants.admin.typed import ModelAdmin
from tenants.models import StaffMembership

if TYPE_CHECKING:
    AccountBase = UserAdmin[User]
else:

    class AccountBase(UserAdmin, ModelAdmin):
        """Django's page in the console's looks."""


# Roles decide what people may do; Django's groups and permissions would say it twice.
admin.site.unregister(Group)
admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(AccountBase):
    """Accounts; superusers alone see them, by Django's own permissions."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "first_name", "last_name", "is_staff", "is_superuser")
    list_filter = ()
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        ("May sign in", {"fields": ("is_active", "is_staff", "is_superuser")}),
    )
    filter_horizontal = ()

    def has_delete_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        """Let accounts be closed, not forgotten: the trail names them."""
        return False


@admin.register(StaffMembership)
class StaffMembershipAdmin(TenantScopedAdmin):
    """Roles of people on tenants; a person may have several on one."""

    add_act = Act.KEEP_STAFF
    change_act = Act.KEEP_STAFF
    delete_act = Act.KEEP_STAFF
    ordering = ("user__username", "tenant__slug", "role")
    list_display = ("user", "tenant", "shown_role", "created_at")
    list_select_related = ("user", "tenant")
    search_fields = ("user__username", "tenant__slug")
    fields = ("user", "tenant", "role")

    @admin.display(description="role")
    def shown_role(self, obj: StaffMembership) -> str:
        """Show the role as a label."""
        return label(obj.role, {})
