"""Which provider serves whom, and what the sandbox was given."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from foundation.database_clock import AppNow
from foundation.ids import new_id
from providers.channels import CHANNEL_CHOICES, Channel
from providers.registry import adapter_class


class ProviderRoute(models.Model):
    """A tenant's own provider for a channel, in place of settings.PROVIDER_ROUTES."""

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

    class Meta:
        db_table = "provider_route"
        constraints = [
            UniqueConstraint(
                name="provider_route_one_per_channel", fields=["tenant", "channel"]
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
