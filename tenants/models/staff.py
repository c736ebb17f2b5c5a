"""Who looks after a tenant."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint

from foundation.database_clock import AppNow
from tenants.models.tenant import Tenant


class StaffMembership(models.Model):
    """What a member of staff may do for one tenant."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        OPERATOR = "operator"
        AUTHOR = "author"
        APPROVER = "approver"
        ADMINISTRATOR = "administrator"

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="memberships",
    )
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=16, choices=Role.choices)
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "staff_membership"
        constraints = [
            UniqueConstraint(
                name="staff_membership_once", fields=["user", "tenant", "role"]
            ),
            CheckConstraint(
                name="staff_membership_role_is_known",
                condition=Q(
                    role__in=[
                        "viewer",
                        "operator",
                        "author",
                        "approver",
                        "administrator",
                    ]
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.role}"
