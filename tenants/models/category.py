"""What a tenant sends messages for."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint

from foundation.database_clock import AppNow
from tenants.categories import (
    CATEGORY_CHOICES,
    LEGAL_CLASS_CHOICES,
    Category,
    LegalClass,
)
from tenants.models.tenant import Tenant

CATEGORY_NAME = r"^[a-z][a-z0-9_.-]*$"


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
    labels = models.JSONField(
        default=dict,
        db_default=models.Value({}, output_field=models.JSONField()),
        blank=True,
        help_text='The label in other languages, for example {"vi": "Mẹo hàng tuần"}.',
    )
    off_by_default = ArrayField(
        models.CharField(max_length=16),
        default=list,
        blank=True,
        help_text="Channels that are off for whoever has not chosen.",
    )
    most_messages = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="How many of them a person gets in so many hours, on whatever"
        " channel; the next ones are suppressed. Empty: no cap.",
    )
    most_in_hours = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)]
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
                name="tenant_category_cap_is_whole",
                condition=Q(most_messages=None, most_in_hours=None)
                | Q(most_messages__isnull=False, most_in_hours__isnull=False)
                & Q(most_messages__gte=1, most_in_hours__gte=1),
                violation_error_message="A cap says how many and in how many hours.",
            ),
            CheckConstraint(
                name="tenant_category_mandatory_has_no_cap",
                condition=~Q(legal_class="mandatory") | Q(most_messages=None),
                violation_error_message="What is mandatory has no cap.",
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

    def label_in(self, language: str) -> str:
        """Return what people of a language are shown; "" where there is no label."""
        label: str = self.labels.get(language) or self.label
        return label
