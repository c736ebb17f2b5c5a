"""An organisation, and what it may do."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import CheckConstraint, Q

from foundation.database_clock import AppNow
from tenants.categories import CATEGORY_CHOICES


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
    quiet_hours = models.TextField(
        max_length=1000,
        blank=True,
        default="",
        db_default="",
        help_text="When its messages disturb nobody, by the clock where each person is:"
        " one window a line, for example mon-fri 21:00-08:00, sat,sun 00:00-24:00 or"
        " daily 22:00-07:00. What is mandatory and urgent alerts go out all the same.",
    )
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
    checks_sizes = models.BooleanField(
        "refuse what comes out too large",
        default=False,
        db_default=False,
        help_text="Messages are rendered before they are accepted. Texts of more than"
        " ten segments, pushes of more than 4 kB, HTML that Gmail would clip, and"
        " what cannot be rendered are refused with the reason. Takes a little longer.",
    )
    transliterates_sms = models.BooleanField(
        "write text messages in the basic alphabet",
        default=False,
        db_default=False,
        help_text="A segment then holds 160 characters and not 70. Letters lose their"
        " marks (Đơn hàng is sent as Don hàng) and quotation marks are made straight,"
        " but only where the whole message can be written so: one with an emoji stays"
        " as it is. The preview of a template shows what is replaced.",
    )
    reviews_templates = models.BooleanField(
        default=False,
        db_default=False,
        help_text="A version of a template is approved only once it was submitted for"
        " review, and not by who last edited it.",
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
