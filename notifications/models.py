"""What the platform remembers about every notification.

`notification`, `notification_content` and `delivery` are partitioned by ranges of
the UUIDv7 id, by month; a notification, its content and its deliveries carry the
same timestamp in their ids and so lie within the same bounds and are dropped
together. There are no foreign keys between them: they would block that drop.
Rows are written by SQL in the use cases; `Delivery.status` in transitions alone.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from foundation.database_clock import AppNow
from foundation.ids import public_id
from notifications.statuses import FINISHED, STUCK, DeliveryStatus
from providers.channels import CHANNEL_CHOICES
from tenants.categories import CATEGORY_CHOICES, PRIORITY_CHOICES

STATUS_CHOICES = [(status.value, status.value) for status in DeliveryStatus]


class Notification(models.Model):
    """One accepted command; immutable but for its retention."""

    id = models.UUIDField(primary_key=True)
    tenant_id = models.BigIntegerField()
    user_id = models.TextField()
    template_version_id = models.BigIntegerField()
    content_hash = models.BinaryField()
    category = models.TextField(choices=CATEGORY_CHOICES)
    priority = models.SmallIntegerField(choices=PRIORITY_CHOICES)
    locale = models.TextField(default="", blank=True)
    reference = models.TextField(default="", blank=True)
    campaign_id = models.UUIDField(null=True)
    is_test = models.BooleanField()
    accepted_by = models.TextField()
    send_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=AppNow())

    class Meta:
        db_table = "notification"
        indexes = [
            # GET /v1/notifications of a tenant, of one user, of one reference
            models.Index(fields=["tenant_id", "id"], name="notification_tenant"),
            models.Index(
                fields=["tenant_id", "user_id", "id"], name="notification_user"
            ),
            models.Index(
                fields=["tenant_id", "reference", "id"],
                condition=~Q(reference=""),
                name="notification_reference",
            ),
        ]

    def __str__(self) -> str:
        return public_id("ntf", self.id)


class NotificationContent(models.Model):
    """The personal part: variables and metadata, sealed, erasable on its own."""

    id = models.UUIDField(primary_key=True)
    tenant_id = models.BigIntegerField()
    sealed = models.BinaryField()

    class Meta:
        db_table = "notification_content"

    def __str__(self) -> str:
        return str(self.id)


class Delivery(models.Model):
    """One message to one address on one channel.

    It carries no index on anything that a transition changes, so that most
    updates are heap-only; the leaves hold UNIQUE (notification_id, channel,
    address_key), which the parent would refuse.
    """

    id = models.UUIDField(primary_key=True)
    notification_id = models.UUIDField()
    tenant_id = models.BigIntegerField()
    channel = models.SmallIntegerField(choices=CHANNEL_CHOICES)
    category = models.TextField(choices=CATEGORY_CHOICES)
    status = models.TextField(choices=STATUS_CHOICES)
    attempt_count = models.SmallIntegerField(default=0)
    claim_count = models.IntegerField(default=0)
    maybe_sent = models.BooleanField(default=False)
    # The address: a reference to the profile's, or the one given in the call, sealed.
    address_id = models.UUIDField(null=True)
    address_sealed = models.BinaryField(null=True)
    address_key = models.BinaryField()
    expires_at = models.DateTimeField(null=True)
    # send_at plus the category's retry window; the first claim opens it, a replay anew.
    retry_until = models.DateTimeField()
    provider = models.TextField(default="", blank=True)
    provider_message_id = models.TextField(default="", blank=True)
    reason = models.TextField(default="", blank=True)
    code = models.TextField(default="", blank=True)
    updated_at = models.DateTimeField(db_default=AppNow())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "delivery"
        verbose_name_plural = "deliveries"
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=sorted(DeliveryStatus)),
                name="delivery_status_known",
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=False, status__in=sorted(FINISHED))
                | Q(finished_at__isnull=True) & ~Q(status__in=sorted(FINISHED)),
                name="delivery_finished_at_says_finished",
            ),
        ]

    def __str__(self) -> str:
        return public_id("dlv", self.id)


class OutboxRow(models.Model):
    """The one row an unfinished delivery has: its lock, its fence and its due date."""

    delivery_id = models.UUIDField(primary_key=True)
    tenant_id = models.BigIntegerField()
    channel = models.SmallIntegerField()
    priority = models.SmallIntegerField()
    claim_count = models.IntegerField(default=0)
    due_at = models.DateTimeField()
    published_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "outbox"
        indexes = [
            # the polls: WHERE priority = 0 AND channel = 1 AND due_at <= app_now(); of
            # one date, such as the end of a night, the oldest delivery first.
            # The condition, which is always true, keeps look-ups by delivery_id out:
            # where the table was empty at the last ANALYZE, skipping through all dates
            # of this index seems as cheap as the primary key (3 s for 166 rows).
            models.Index(
                fields=["priority", "channel", "due_at", "delivery_id"],
                condition=models.Q(priority__gte=0),
                name="outbox_due",
            ),
            # the shares of tenants, where more is due than a poll can take
            models.Index(
                fields=["priority", "channel", "tenant_id", "due_at", "delivery_id"],
                condition=models.Q(priority__gte=0),
                name="outbox_by_tenant",
            ),
        ]

    def __str__(self) -> str:
        return str(self.delivery_id)


class RejectedRecord(models.Model):
    """A record of the broker that names no delivery, for an operator to look at."""

    id = models.UUIDField(primary_key=True)
    topic = models.TextField()
    partition = models.IntegerField()
    record_offset = models.BigIntegerField()
    reason = models.TextField()
    octets = models.BinaryField(help_text="Its first kilobyte.")
    size = models.IntegerField()
    created_at = models.DateTimeField(db_default=AppNow())

    class Meta:
        db_table = "rejected_record"

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.record_offset}"


class SeenTopic(models.Model):
    """The id that a topic had when the relay last looked; another means made anew."""

    name = models.TextField(primary_key=True)
    topic_id = models.TextField()
    seen_at = models.DateTimeField(db_default=AppNow())

    class Meta:
        db_table = "seen_topic"

    def __str__(self) -> str:
        return self.name


class LaneFlow(models.Model):
    """When a delivery of a class last got through; see notifications.lateness."""

    lane = models.TextField(primary_key=True)
    flowed_at = models.DateTimeField()

    class Meta:
        db_table = "lane_flow"

    def __str__(self) -> str:
        return self.lane


class DeadLetter(models.Model):
    """A delivery that waits for a person: dead or parked.

    A narrow table of its own, because an index on delivery.status, even a partial
    one, would cost every delivery its heap-only updates.
    """

    delivery_id = models.UUIDField(primary_key=True)
    notification_id = models.UUIDField()
    tenant_id = models.BigIntegerField()
    channel = models.SmallIntegerField(choices=CHANNEL_CHOICES)
    provider = models.TextField(db_default="", blank=True)
    status = models.TextField(
        choices=[(status.value, status.value) for status in sorted(STUCK)]
    )
    reason = models.TextField()
    code = models.TextField(default="", blank=True)
    attempt_count = models.SmallIntegerField()
    created_at = models.DateTimeField(db_default=AppNow())

    class Meta:
        db_table = "dead_letter"
        indexes = [
            models.Index(
                fields=["tenant_id", "delivery_id"], name="dead_letter_tenant"
            ),
            # who goes on once an account is mended
            models.Index(
                fields=["provider", "delivery_id"],
                condition=Q(reason="account_fault"),
                name="dead_letter_account_fault",
            ),
        ]

    def __str__(self) -> str:
        return str(self.delivery_id)
