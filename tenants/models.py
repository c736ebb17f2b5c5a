"""Who uses the platform: tenants, their keys, and the staff who look after them."""

from __future__ import annotations

from hashlib import sha256

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import CheckConstraint, Func, Index, Q, UniqueConstraint
from django.db.models.lookups import Exact

from foundation.database_clock import AppNow
from foundation.ids import new_id
from tenants.categories import (
    CATEGORY_CHOICES,
    LEGAL_CLASS_CHOICES,
    Category,
    LegalClass,
)

CATEGORY_NAME = r"^[a-z][a-z0-9_.-]*$"


def _daily_quota(messages: str) -> models.PositiveIntegerField[int | None, int | None]:
    return models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text=f"How many {messages} may be accepted a day, by the tenant's own time"
        " zone. Empty: as many as it likes; 0: none.",
    )


class Tenant(models.Model):
    """An organisation; everything else belongs to exactly one."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        SUSPENDED = "suspended"

    id = models.BigAutoField(primary_key=True)
    slug = models.CharField(max_length=63, unique=True)
    name = models.CharField(max_length=200)
    status = models.CharField(
        max_length=16, choices=Status.choices, default=Status.ACTIVE
    )
    default_locale = models.CharField(max_length=35, default="en")
    default_region = models.CharField(
        max_length=2,
        blank=True,
        default="",
        help_text="Country of phone numbers written without one, for example VN.",
    )
    time_zone = models.CharField(max_length=64, default="UTC")
    requests_per_second = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Notifications that it may submit a second; ten seconds' worth may"
        " come at once. One-time passwords and test keys have as much again, each."
        " Empty: the platform's default.",
    )
    daily_email_quota = _daily_quota("e-mails")
    daily_sms_quota = _daily_quota("text messages")
    daily_push_quota = _daily_quota("push messages, one for each device")
    daily_in_app_quota = _daily_quota("messages in the inbox")
    ordered_categories = ArrayField(
        models.CharField(max_length=20, choices=CATEGORY_CHOICES),
        default=list,
        db_default=[],
        blank=True,
        help_text="Of these, a person's messages go out one after the other, each"
        " waiting for the end of the one before, retries included; as well as those"
        " that ORDERED_CATEGORIES names for everybody.",
    )
    sms_countries = models.CharField(
        max_length=1000,
        blank=True,
        default="",
        db_default="",
        help_text="Countries to which it may send text messages, for example VN LA; *"
        " for every country. Empty: its default region, or without one the platform's"
        " default.",
    )
    daily_sms_spend_cap = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="What text messages may cost a day, in whole units of the currency in"
        " which the platform's prices are. Nothing is accepted beyond it, one-time"
        " passwords included. Empty: no cap; 0: nothing.",
    )
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "tenant"
        constraints = [
            CheckConstraint(
                name="tenant_may_make_requests",
                condition=Q(requests_per_second__gte=1),
            ),
            CheckConstraint(
                name="tenant_slug_is_a_label",
                condition=Q(slug__regex=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"),
            ),
            CheckConstraint(
                name="tenant_status_is_known",
                condition=Q(status__in=["active", "suspended"]),
            ),
            CheckConstraint(
                name="tenant_sms_countries_are_countries",
                condition=Q(sms_countries__regex=r"^(\*|[A-Z]{2}( [A-Z]{2})*)?$"),
            ),
            CheckConstraint(
                name="tenant_default_region_is_a_country",
                condition=Q(default_region__regex=r"^([A-Z]{2})?$"),
            ),
        ]

    def __str__(self) -> str:
        return self.slug


class TenantCategory(models.Model):
    """What templates are for, in a tenant's own words; people may switch it off.

    Every tenant has the three built-in ones (a trigger). Name and base stand still
    and the built-in ones stay (another): notifications in flight rely on them.
    """

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(
        Tenant,
        on_delete=models.PROTECT,
        related_name="categories",
        db_index=False,  # tenant_category_name_once begins with it
    )
    name = models.CharField(
        max_length=32,
        validators=[
            RegexValidator(CATEGORY_NAME, "Small letters, digits, _ . and - alone.")
        ],
        help_text="What templates and preferences call it, for example weekly_tips.",
    )
    base = models.CharField(
        max_length=16,
        choices=CATEGORY_CHOICES,
        default=Category.MARKETING,
        help_text="It decides the priority, for how long sending is tried, and the"
        " limits of text messages.",
    )
    legal_class = models.CharField(
        max_length=16,
        choices=LEGAL_CLASS_CHOICES,
        default=LegalClass.MARKETING,
        help_text="Mandatory: goes out whatever a person prefers, but never past a"
        " legal opt-out. The others people can switch off.",
    )
    label = models.CharField(
        max_length=100,
        blank=True,
        default="",
        help_text="What people are shown for the name.",
    )
    off_by_default = ArrayField(
        models.CharField(max_length=16),
        default=list,
        blank=True,
        help_text="Channels that are off for whoever has not chosen.",
    )
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "tenant_category"
        verbose_name = "category"
        verbose_name_plural = "categories"
        constraints = [
            UniqueConstraint(
                name="tenant_category_name_once", fields=["tenant", "name"]
            ),
            CheckConstraint(
                name="tenant_category_name_is_a_label",
                condition=Q(name__regex=CATEGORY_NAME),
            ),
            CheckConstraint(
                name="tenant_category_class_fits_its_base",
                condition=Q(base="otp", legal_class="mandatory")
                | Q(base="transactional", legal_class="mandatory")
                | Q(base="transactional", legal_class="transactional")
                | Q(base="marketing", legal_class="marketing"),
                violation_error_message="One-time passwords are mandatory, marketing is"
                " marketing; transactional messages are transactional or mandatory.",
            ),
            CheckConstraint(
                name="tenant_category_built_in_is_its_own_base",
                condition=~Q(name__in=["otp", "transactional", "marketing"])
                | Q(name="otp", base="otp")
                | Q(name="transactional", legal_class="transactional")
                | Q(name="marketing", base="marketing"),
                violation_error_message="This one is built in: its base and legal class"
                " stay.",
            ),
            CheckConstraint(
                name="tenant_category_mandatory_is_on",
                condition=~Q(legal_class="mandatory") | Q(off_by_default=[]),
                violation_error_message="What is mandatory is on.",
            ),
            CheckConstraint(
                name="tenant_category_off_by_default_are_channels",
                condition=Q(
                    off_by_default__contained_by=["email", "sms", "push", "in_app"]
                ),
            ),
        ]

    def __str__(self) -> str:
        return self.name


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


class PumpingAlarm(models.Model):
    """One-time passwords that pour into numbers of the same first digits.

    One row for each prefix of a tenant; it begins anew after a quiet hour.
    """

    id = models.BigAutoField(primary_key=True)
    # UNIQUE (tenant, prefix) serves the foreign key too.
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    country = models.CharField(max_length=3, blank=True)
    prefix = models.CharField(max_length=12)
    # Since the alarm: what was let through, what the limit refused, and what the
    # provider would not send.
    passed = models.BigIntegerField(default=0)
    refused = models.BigIntegerField(default=0)
    blocked = models.BigIntegerField(default=0)
    since = models.DateTimeField(db_default=AppNow(), editable=False)
    last_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "pumping_alarm"
        constraints = [
            UniqueConstraint(
                name="pumping_alarm_once_a_prefix", fields=["tenant", "prefix"]
            ),
        ]

    def __str__(self) -> str:
        return f"+{self.prefix}…"


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
