"""What a tenant seals with, and what its services sign in with."""

from __future__ import annotations

from hashlib import sha256

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import CheckConstraint, Func, Index, Q, UniqueConstraint
from django.db.models.lookups import Exact

from foundation.database_clock import AppNow
from foundation.ids import new_id
from tenants.models.tenant import Tenant


class TenantKey(models.Model):
    """A data key of a tenant, sealed under a master key; envelopes name it by id."""

    class Purpose(models.TextChoices):
        SEAL = "seal"
        INDEX = "index"

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(
        Tenant,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,  # tenant_key_newest begins with it
    )
    purpose = models.CharField(max_length=8, choices=Purpose.choices)
    wrapped = models.BinaryField()
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "tenant_key"
        constraints = [
            CheckConstraint(
                name="tenant_key_purpose_is_known",
                condition=Q(purpose__in=["seal", "index"]),
            ),
            # Blind indexes are compared with each other: a second key would hide
            # every value that was indexed under the first.
            UniqueConstraint(
                name="tenant_key_one_index_key",
                fields=["tenant"],
                condition=Q(purpose="index"),
            ),
        ]
        indexes = [
            # tenants.data_keys: the newest sealing key of a tenant.
            Index(name="tenant_key_newest", fields=["tenant", "purpose", "-id"]),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} key {self.pk}"


class ApiKey(models.Model):
    """A service's credential; only the SHA-256 of it is kept."""

    class Environment(models.TextChoices):
        LIVE = "live"
        TEST = "test"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    service = models.CharField(max_length=63)
    environment = models.CharField(max_length=4, choices=Environment.choices)
    prefix = models.CharField(max_length=16, help_text="The part shown to people.")
    digest = models.BinaryField(unique=True)
    scopes = ArrayField(models.CharField(max_length=40))
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)
    created_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        db_table = "api_key"
        constraints = [
            CheckConstraint(
                name="api_key_environment_is_known",
                condition=Q(environment__in=["live", "test"]),
            ),
            CheckConstraint(
                name="api_key_service_is_a_label",
                condition=Q(service__regex=r"^[a-z][a-z0-9_-]*$"),
            ),
            CheckConstraint(
                name="api_key_has_a_scope", condition=Q(scopes__len__gte=1)
            ),
            CheckConstraint(
                name="api_key_digest_is_sha256",
                condition=Exact(
                    Func(
                        "digest",
                        function="octet_length",
                        output_field=models.IntegerField(),
                    ),
                    sha256().digest_size,
                ),
            ),
        ]
        indexes = [
            # tenants.api_keys: the live keys of a service, at most two.
            Index(
                name="api_key_live",
                fields=["tenant", "service", "environment"],
                condition=Q(revoked_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"
