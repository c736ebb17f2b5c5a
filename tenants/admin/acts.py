"""What members of staff may do: a role on a tenant allows acts on what is its own."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Model, QuerySet, prefetch_related_objects

from tenants.models import StaffMembership

M = TypeVar("M", bound=Model)
Staff = User | AnonymousUser


class Act(StrEnum):
    """Something that a person does in the console."""

    LOOK = "look"
    REPLAY = "replay"
    ISSUE_KEYS = "issue_keys"
    REVOKE_KEYS = "revoke_keys"
    WRITE_TEMPLATES = "write_templates"
    APPROVE_TEMPLATES = "approve_templates"
    KEEP_CATEGORIES = "keep_categories"
    KEEP_SUPPRESSIONS = "keep_suppressions"
    # No role has these: they are for superusers.
    KEEP_TENANTS = "keep_tenants"
    KEEP_STAFF = "keep_staff"


_R = StaffMembership.Role
ACTS_OF_ROLE: dict[str, frozenset[Act]] = {
    _R.VIEWER: frozenset({Act.LOOK}),
    _R.OPERATOR: frozenset(
        {Act.LOOK, Act.REPLAY, Act.REVOKE_KEYS, Act.KEEP_SUPPRESSIONS}
    ),
    _R.AUTHOR: frozenset({Act.LOOK, Act.WRITE_TEMPLATES}),
    _R.APPROVER: frozenset({Act.LOOK, Act.APPROVE_TEMPLATES}),
    _R.ADMINISTRATOR: frozenset(
        {
            Act.LOOK,
            Act.REPLAY,
            Act.ISSUE_KEYS,
            Act.REVOKE_KEYS,
            Act.KEEP_CATEGORIES,
            Act.KEEP_SUPPRESSIONS,
        }
    ),
}


def may(user: Staff, act: Act, *, tenant_id: int | None = None) -> bool:
    """Tell whether somebody may do this for a tenant, or (None) for any at all."""
    if user.is_superuser:
        return True
    allowed = tenants_where(user, act)
    return bool(allowed) if tenant_id is None else tenant_id in allowed


def tenants_where(user: Staff, act: Act) -> frozenset[int]:
    """Return the tenants whose membership allows an act; superusers need none."""
    return frozenset(
        membership.tenant_id
        for membership in _memberships(user)
        if act in ACTS_OF_ROLE[membership.role]
    )


def within(
    queryset: QuerySet[M], user: Staff, act: Act, *, tenant_path: str
) -> QuerySet[M]:
    """Keep the rows of the tenants for which somebody may do this."""
    if user.is_superuser:
        return queryset
    return queryset.filter(**{f"{tenant_path}__in": sorted(tenants_where(user, act))})


def actor_of(user: Staff) -> str:
    """Return the name that the audit trail knows a member of staff by."""
    return f"staff:{user.get_username()}"


def _memberships(user: Staff) -> list[StaffMembership]:
    if isinstance(user, AnonymousUser):
        return []
    # Kept by the user object, which lives as long as its request.
    prefetch_related_objects([user], "memberships")
    return list(user.memberships.all())
