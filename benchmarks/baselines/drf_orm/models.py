"""The one table that the platform has no model of: it is written by SQL there."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from foundation.database_clock import AppNow


class IdempotencyKey(models.Model):
    """A key and the answer that its first request was given."""

    pk = models.CompositePrimaryKey("tenant_id", "key")
    tenant_id = models.BigIntegerField()
    key = models.TextField()
    fingerprint = models.BinaryField()
    hash_version = models.SmallIntegerField()
    resource = models.UUIDField(null=True)
    status_code = models.SmallIntegerField(null=True)
    response = models.BinaryField(null=True)
    created_at = models.DateTimeField(db_default=AppNow())
    expires_at = models.DateTimeField()

    objects: ClassVar[models.Manager[IdempotencyKey]] = models.Manager()

    class Meta:
        managed = False
        app_label = "drf_orm"
        db_table = "idempotency_key"

    def __str__(self) -> str:
        return self.key
