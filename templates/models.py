"""What messages say: templates, their versions, and contents by channel and locale."""

from __future__ import annotations

from hashlib import sha256

from django.db import models
from django.db.models import CheckConstraint, Func, Q, UniqueConstraint
from django.db.models.lookups import Exact, In

from foundation.database_clock import AppNow
from providers.channels import CHANNEL_CHOICES
from tenants.models import Tenant

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]*$"


def _kind_of(field: str) -> Func:
    return Func(field, function="jsonb_typeof", output_field=models.TextField())


def _is_object(field: str) -> Exact:
    return Exact(_kind_of(field), "object")


class Template(models.Model):
    """A message that services ask for by name.

    Tenant, name and category stand still once a version was approved (a trigger):
    notifications in flight were accepted with them.
    """

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(
        Tenant,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,  # template_name_once begins with it
    )
    name = models.CharField(max_length=100)
    # The name of one of the tenant's categories (a foreign key of both columns).
    category = models.CharField(max_length=32)
    description = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "template"
        constraints = [
            UniqueConstraint(name="template_name_once", fields=["tenant", "name"]),
            CheckConstraint(
                name="template_name_is_a_label",
                condition=Q(name__regex=NAME_PATTERN),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class TemplateVersion(models.Model):
    """One wording of a template; while it is reviewed nothing of it changes, and from
    its approval on nothing but that it may be retired (a trigger)."""

    class Status(models.TextChoices):
        DRAFT = "draft"
        IN_REVIEW = "in_review"
        APPROVED = "approved"
        RETIRED = "retired"

    id = models.BigAutoField(primary_key=True)
    template = models.ForeignKey(
        Template,
        on_delete=models.PROTECT,
        related_name="versions",
        db_index=False,  # template_version_number_once begins with it
    )
    number = models.PositiveIntegerField()
    status = models.CharField(
        max_length=16, choices=Status.choices, default=Status.DRAFT
    )
    schema = models.JSONField(help_text="JSON Schema of the variables.")
    sample = models.JSONField(
        null=True, blank=True, help_text="Variables to try the contents with."
    )
    default_locale = models.CharField(max_length=35)
    edited_by = models.CharField(
        max_length=150,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="Who last changed it or a content of it.",
    )
    review_note = models.TextField(
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="Why it was sent back, for its authors.",
    )
    content_hash = models.BinaryField(null=True, editable=False)
    approved_at = models.DateTimeField(null=True, editable=False)
    approved_by = models.CharField(
        max_length=150, blank=True, default="", editable=False
    )
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "template_version"
        constraints = [
            UniqueConstraint(
                name="template_version_number_once", fields=["template", "number"]
            ),
            CheckConstraint(
                name="template_version_number_is_positive", condition=Q(number__gte=1)
            ),
            CheckConstraint(
                name="template_version_approval_is_whole",
                condition=Q(
                    status__in=["draft", "in_review"],
                    content_hash__isnull=True,
                    approved_at__isnull=True,
                )
                | Q(
                    status__in=["approved", "retired"],
                    content_hash__isnull=False,
                    approved_at__isnull=False,
                ),
            ),
            CheckConstraint(
                name="template_version_schema_is_an_object",
                condition=_is_object("schema"),
            ),
            CheckConstraint(
                name="template_version_sample_is_an_object",
                # Forms check a sample that is not there as if it were JSON's null.
                condition=In(_kind_of("sample"), ["object", "null"]),
            ),
            CheckConstraint(
                name="template_version_hash_is_sha256",
                condition=Exact(
                    Func(
                        "content_hash",
                        function="octet_length",
                        output_field=models.IntegerField(),
                    ),
                    sha256().digest_size,
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"version {self.number}"


class Layout(models.Model):
    """What e-mails of a tenant have around their own MJML; a row is a version of it,
    and never changes (a trigger)."""

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(
        Tenant,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,  # layout_number_once begins with it
    )
    name = models.CharField(max_length=100)
    number = models.PositiveIntegerField()
    mjml = models.TextField()
    edited_by = models.CharField(max_length=150, editable=False)
    created_at = models.DateTimeField(db_default=AppNow(), editable=False)

    class Meta:
        db_table = "layout"
        constraints = [
            UniqueConstraint(
                name="layout_number_once", fields=["tenant", "name", "number"]
            ),
            CheckConstraint(
                name="layout_name_is_a_label", condition=Q(name__regex=NAME_PATTERN)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


class TemplateContent(models.Model):
    """The texts for one channel in one locale."""

    id = models.BigAutoField(primary_key=True)
    version = models.ForeignKey(
        TemplateVersion,
        on_delete=models.CASCADE,
        related_name="contents",
        db_index=False,  # template_content_once begins with it
    )
    channel = models.PositiveSmallIntegerField(choices=CHANNEL_CHOICES)
    locale = models.CharField(max_length=35)
    parts = models.JSONField(help_text="Text by part: subject, text, html, title, …")
    compiled = models.JSONField(
        null=True,
        editable=False,
        help_text="The parts as they are sent, where they were written otherwise.",
    )
    layout_version = models.ForeignKey(
        Layout,
        null=True,
        editable=False,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,  # nobody asks which letters have a layout
        help_text="The one that was put around it.",
    )

    class Meta:
        db_table = "template_content"
        constraints = [
            UniqueConstraint(
                name="template_content_once", fields=["version", "channel", "locale"]
            ),
            CheckConstraint(
                name="template_content_parts_are_an_object",
                condition=_is_object("parts"),
            ),
            CheckConstraint(
                name="template_content_compiled_is_an_object",
                condition=_is_object("compiled"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_channel_display()} {self.locale}"

    @property
    def sent_parts(self) -> dict[str, str]:
        """Return the parts that messages are made of."""
        parts: dict[str, str] = self.parts if self.compiled is None else self.compiled
        return parts
