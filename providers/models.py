"""Which provider serves whom, which cannot, and what the sandbox was given."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from foundation.database_clock import AppNow
from foundation.ids import new_id
from providers.channels import CHANNEL_CHOICES, Channel
from providers.registry import adapter_class


class ProviderRoute(models.Model):
    """A tenant's own provider for a channel, in place of settings.PROVIDER_ROUTES.

    With several, those of the lowest tier are used, each by its weight; the others
    stand in while they cannot.
    """

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(
        "tenants.Tenant",
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,  # the unique constraint begins with it
    )
    channel = models.PositiveSmallIntegerField(choices=CHANNEL_CHOICES)
    provider = models.CharField(
        max_length=64, help_text="An alias of settings.PROVIDERS."
    )
    tier = models.PositiveSmallIntegerField(
        default=1, help_text="The lowest comes first; a higher one stands in for it."
    )
    weight = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1)],
        help_text="Its part of the traffic, beside others of its tier.",
    )

    class Meta:
        db_table = "provider_route"
        constraints = [
            UniqueConstraint(
                name="provider_route_once_per_channel",
                fields=["tenant", "channel", "provider"],
            ),
            CheckConstraint(
                name="provider_route_weight_is_positive", condition=Q(weight__gt=0)
            ),
            CheckConstraint(
                name="provider_route_channel_is_known",
                condition=Q(channel__in=[channel.value for channel in Channel]),
            ),
        ]

    def __str__(self) -> str:
        return f"{Channel(self.channel).key} by {self.provider}"

    def clean(self) -> None:
        """Refuse an alias that could only park deliveries."""
        if self.provider not in settings.PROVIDERS:
            raise ValidationError({"provider": "There is no provider of this name."})
        if self.channel not in adapter_class(self.provider).channels:
            raise ValidationError({"provider": "It does not serve this channel."})


class AccountFault(models.Model):
    """An account that refuses us until somebody mends it; written by account_faults.

    Once mended, the row stays until everything that waited for it is on its way.
    """

    provider = models.CharField(primary_key=True, max_length=64)
    code = models.TextField(default="", blank=True)
    first_at = models.DateTimeField(db_default=AppNow())
    last_at = models.DateTimeField(db_default=AppNow())
    next_probe_at = models.DateTimeField()
    probes = models.PositiveIntegerField(db_default=0)
    mended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "account_fault"

    def __str__(self) -> str:
        return f"{self.provider}: {self.code}"


class SandboxMessage(models.Model):
    """One attempt that the sandbox answered, with what it would have sent.

    Read the content through providers.sandbox_record.read_content.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant_id = models.BigIntegerField()
    notification_id = models.UUIDField()
    delivery_id = models.UUIDField()
    channel = models.PositiveSmallIntegerField(choices=CHANNEL_CHOICES)
    attempt = models.PositiveIntegerField()
    outcome = models.CharField(max_length=16)
    # Whether a real provider would have the message now, whatever it answered.
    accepted = models.BooleanField()
    sealed = models.BinaryField()
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "sandbox_message"
        indexes = [
            # The newest of a tenant, in the admin and the API.
            Index(name="sandbox_message_tenant", fields=["tenant_id", "id"]),
            # The attempts of one delivery; and rate-limited recipients count them.
            Index(name="sandbox_message_delivery", fields=["delivery_id"]),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} on {Channel(self.channel).key}"
