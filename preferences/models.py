"""The people of a tenant: where to reach them, and what they do not want.

Addresses and tokens are sealed; a keyed hash beside each finds it again.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from foundation.database_clock import AppNow
from foundation.ids import new_id, public_id
from foundation.user_ids import USER_ID_PATTERN
from preferences.held import Reason
from providers.channels import CHANNEL_CHOICES, Channel
from tenants.models import Tenant


class Recipient(models.Model):
    """A person, by the id that the tenant's services know them by."""

    id = models.BigAutoField(primary_key=True)
    # UNIQUE (tenant, user_id) serves the foreign key too.
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    user_id = models.CharField(max_length=128)
    locale = models.CharField(max_length=35, blank=True, default="")
    time_zone = models.CharField(max_length=64, blank=True, default="")
    country = models.CharField(
        max_length=2,
        blank=True,
        default="",
        db_default="",
        help_text="Where they live, for example VN.",
    )
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)
    updated_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "recipient"
        constraints = [
            UniqueConstraint(
                name="recipient_once_a_tenant", fields=["tenant", "user_id"]
            ),
            CheckConstraint(
                name="recipient_user_id_is_well_formed",
                condition=Q(user_id__regex=USER_ID_PATTERN),
            ),
            CheckConstraint(
                name="recipient_country_is_one",
                condition=Q(country__regex=r"^([A-Z]{2})?$"),
            ),
        ]

    def __str__(self) -> str:
        return self.user_id


class Address(models.Model):
    """An e-mail address or phone number; the lowest position is tried first.

    Whether anything may be sent to it, the suppression list says.
    """

    class Status(models.TextChoices):
        UNVERIFIED = "unverified"
        VERIFIED = "verified"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    recipient = models.ForeignKey(
        Recipient,
        on_delete=models.CASCADE,
        related_name="addresses",
        db_index=False,
    )
    channel = models.SmallIntegerField(choices=CHANNEL_CHOICES)
    typed = models.BinaryField(help_text="As it was given to us, sealed.")
    normalised = models.BinaryField(help_text="As it is sent to, sealed.")
    key = models.BinaryField(help_text="Keyed hash: equal for every spelling.")
    status = models.CharField(
        max_length=16, choices=Status.choices, default=Status.UNVERIFIED
    )
    position = models.SmallIntegerField(default=0)
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "address"
        verbose_name_plural = "addresses"
        constraints = [
            UniqueConstraint(
                name="address_once_a_recipient", fields=["recipient", "channel", "key"]
            ),
            CheckConstraint(
                name="address_channel_has_addresses",
                condition=Q(channel__in=[Channel.EMAIL.value, Channel.SMS.value]),
            ),
            CheckConstraint(
                name="address_status_is_known",
                condition=Q(status__in=["unverified", "verified"]),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Device(models.Model):
    """A place that takes push messages. A token belongs to one person at a time."""

    class Platform(models.TextChoices):
        FCM = "fcm", "FCM"
        APNS = "apns", "APNs"
        WEBPUSH = "webpush", "Web Push"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # UNIQUE (tenant, key) serves the foreign key too.
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    recipient = models.ForeignKey(
        Recipient,
        on_delete=models.CASCADE,
        related_name="devices",
        db_index=False,
    )
    platform = models.CharField(max_length=8, choices=Platform.choices)
    token = models.BinaryField(help_text="Sealed.")
    key = models.BinaryField(help_text="Keyed hash of platform and token.")
    time_zone = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="Where it was when it was last seen.",
    )
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)
    last_seen_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "device"
        constraints = [
            UniqueConstraint(name="device_once_a_tenant", fields=["tenant", "key"]),
            CheckConstraint(
                name="device_platform_is_known",
                condition=Q(platform__in=["fcm", "apns", "webpush"]),
            ),
        ]
        indexes = [
            # preferences.profiles and the list of a user's devices
            Index(name="device_of_recipient", fields=["recipient", "id"]),
        ]

    def __str__(self) -> str:
        return str(self.id)


class NotificationPreferences(models.Model):
    """What a person does not want; held for people without a profile too."""

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    user_id = models.CharField(max_length=128)
    version = models.IntegerField()
    opt_outs = ArrayField(models.CharField(max_length=16), help_text="Channels.")
    quiet_hours = models.JSONField(null=True, blank=True)
    category_choices = models.JSONField(
        default=dict,
        db_default=models.Value({}, output_field=models.JSONField()),
        blank=True,
        help_text="Whether a category is wanted, by its name and the channel.",
    )
    snoozed_until = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "notification_preferences"
        verbose_name_plural = "notification preferences"
        constraints = [
            UniqueConstraint(
                name="notification_preferences_once_a_user",
                fields=["tenant", "user_id"],
            ),
            CheckConstraint(
                name="notification_preferences_user_id_is_well_formed",
                condition=Q(user_id__regex=USER_ID_PATTERN),
            ),
            CheckConstraint(
                name="notification_preferences_version_is_counted",
                condition=Q(version__gte=1),
            ),
            CheckConstraint(
                name="notification_preferences_opt_outs_are_channels",
                condition=Q(opt_outs__contained_by=["email", "sms", "push", "in_app"]),
            ),
        ]

    def __str__(self) -> str:
        return self.user_id


class ConsentEvent(models.Model):
    """What a person agreed to or withdrew; the platform may add one and change none."""

    id = models.UUIDField(primary_key=True, default=new_id)
    tenant_id = models.BigIntegerField()
    person_key = models.BinaryField()
    channel = models.SmallIntegerField(null=True)
    category = models.TextField()
    change = models.TextField()
    source = models.TextField()
    wording = models.TextField()
    actor = models.TextField()
    evidence = models.BinaryField(null=True)
    created_at = models.DateTimeField(db_default=AppNow())

    class Meta:
        db_table = "consent_event"
        indexes = [
            # preferences.consent: everything that one person said
            Index(
                name="consent_event_person", fields=["tenant_id", "person_key", "id"]
            ),
        ]

    def __str__(self) -> str:
        return f"{self.change} {self.category}"


class Suppression(models.Model):
    """An address that nothing may be sent to, until somebody lifts it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # suppression_once begins with it.
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    channel = models.SmallIntegerField(choices=CHANNEL_CHOICES)
    key = models.BinaryField(editable=False, help_text="Keyed hash of the address.")
    category = models.CharField(
        max_length=32,
        blank=True,
        default="",
        help_text="Empty: whatever the category.",
    )
    reason = models.CharField(
        max_length=16, choices=[(each.value, each.value) for each in Reason]
    )
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)
    created_by = models.CharField(max_length=150, editable=False)
    lifted_at = models.DateTimeField(null=True, editable=False)
    lifted_by = models.CharField(max_length=150, blank=True, default="", db_default="")

    class Meta:
        db_table = "suppression"
        verbose_name = "suppressed address"
        verbose_name_plural = "suppressed addresses"
        constraints = [
            # preferences.suppression looks up by it too.
            UniqueConstraint(
                name="suppression_once",
                fields=["tenant", "channel", "key", "category", "reason"],
                condition=Q(lifted_at__isnull=True),
            ),
            CheckConstraint(
                name="suppression_reason_is_known",
                condition=Q(
                    reason__in=["hard_bounce", "complaint", "stop", "legal_request"]
                ),
            ),
        ]

    def __str__(self) -> str:
        return public_id("sup", self.pk)
