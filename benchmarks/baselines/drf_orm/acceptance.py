"""Write what one acceptance writes: a create or a bulk_create for each table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from rest_framework.renderers import JSONRenderer

from audit.events import EventKind
from audit.models import AuditEvent
from benchmarks.baselines.drf_orm.lookups import Destination
from benchmarks.baselines.drf_orm.models import IdempotencyKey
from benchmarks.baselines.drf_orm.serializers import AcceptedSerializer
from foundation.ids import new_id, public_id, sibling_id
from notifications.models import Delivery, Notification, NotificationContent, OutboxRow
from notifications.statuses import DeliveryStatus
from templates.models import TemplateVersion
from tenants import data_keys
from tenants.categories import Category, Priority, default_priority
from tenants.principals import ServicePrincipal

KEEP_KEY_FOR = timedelta(days=7)
HASH_VERSION = 1


def create_notification(
    *,
    principal: ServicePrincipal,
    data: Mapping[str, Any],
    fingerprint: bytes,
    version: TemplateVersion,
    destinations: list[Destination],
) -> bytes:
    """Write all rows in one transaction and return the answer.

    The key comes first: a repeated one raises IntegrityError before anything else.
    """
    notification = _notification(principal, data, version)
    deliveries = [
        _delivery(notification, destination, version) for destination in destinations
    ]
    decisions = _decisions(notification, destinations)
    answer = _answer(notification, data, decisions)
    now = notification.send_at
    window = data.get("dedupe_window_seconds")
    with transaction.atomic():
        IdempotencyKey.objects.create(
            tenant_id=principal.tenant_id,
            key=data["idempotency_key"],
            fingerprint=fingerprint,
            hash_version=HASH_VERSION,
            resource=notification.id,
            status_code=202,
            response=answer,
            expires_at=now + (timedelta(seconds=window) if window else KEEP_KEY_FOR),
        )
        notification.save(force_insert=True)
        NotificationContent.objects.create(
            id=notification.id,
            tenant_id=principal.tenant_id,
            sealed=_sealed(notification, data),
        )
        Delivery.objects.bulk_create(deliveries)
        OutboxRow.objects.bulk_create(
            _outbox_row(notification, delivery)
            for delivery in deliveries
            if delivery.status == DeliveryStatus.PENDING
        )
        AuditEvent.objects.bulk_create(
            _events(
                principal, notification, deliveries, version, destinations, decisions
            )
        )
    return answer


def _notification(
    principal: ServicePrincipal, data: Mapping[str, Any], version: TemplateVersion
) -> Notification:
    category = Category(version.template.category)
    asked = data.get("priority")
    priority = Priority[asked.upper()] if asked else default_priority(category)
    send_at = data.get("send_at") or timezone.now()
    default_expiry = settings.DEFAULT_EXPIRY[category]
    return Notification(
        id=new_id(),
        tenant_id=principal.tenant_id,
        user_id=data["recipient"]["user_id"],
        template_version_id=version.id,
        content_hash=version.content_hash,
        category=category.value,
        priority=priority.value,
        locale=data["recipient"].get("locale", ""),
        reference=data["reference"],
        is_test=principal.is_test,
        accepted_by=principal.actor,
        send_at=send_at,
        expires_at=data.get("expires_at")
        or (send_at + default_expiry if default_expiry else None),
    )


def _sealed(notification: Notification, data: Mapping[str, Any]) -> bytes:
    content = {"variables": data["variables"], "metadata": data["metadata"]}
    return data_keys.seal(
        tenant_id=notification.tenant_id,
        table="notification_content",
        row=notification.id,
        plaintext=orjson.dumps(content),
    )


def _delivery(
    notification: Notification, destination: Destination, version: TemplateVersion
) -> Delivery:
    window = settings.RETRY_POLICIES[version.template.category]["window"]
    held = bool(destination.reason)
    return Delivery(
        id=sibling_id(notification.id),
        notification_id=notification.id,
        tenant_id=notification.tenant_id,
        channel=destination.channel.value,
        category=notification.category,
        status=DeliveryStatus.SUPPRESSED if held else DeliveryStatus.PENDING,
        address_id=destination.address.id if destination.address else None,
        address_key=destination.address.key if destination.address else b"",
        expires_at=notification.expires_at,
        retry_until=notification.send_at + window,
        reason=destination.reason,
        finished_at=timezone.now() if held else None,
    )


def _outbox_row(notification: Notification, delivery: Delivery) -> OutboxRow:
    return OutboxRow(
        delivery_id=delivery.id,
        tenant_id=delivery.tenant_id,
        channel=delivery.channel,
        priority=notification.priority,
        due_at=notification.send_at,
    )


def _events(
    principal: ServicePrincipal,
    notification: Notification,
    deliveries: list[Delivery],
    version: TemplateVersion,
    destinations: list[Destination],
    decisions: list[dict[str, Any]],
) -> list[AuditEvent]:
    def event(
        kind: EventKind, detail: dict[str, Any], **about: UUID | str
    ) -> AuditEvent:
        return AuditEvent(
            id=sibling_id(notification.id),
            tenant_id=notification.tenant_id,
            kind=kind.value,
            actor=principal.actor,
            notification_id=notification.id,
            detail=detail,
            **about,
        )

    accepted = {
        "template": version.template.name,
        "version": version.number,
        "channels": [destination.channel.key for destination in destinations],
        "decisions": decisions,
    }
    return [
        event(EventKind.NOTIFICATION_ACCEPTED, accepted),
        *(
            event(
                EventKind.DELIVERY_SUPPRESSED,
                {
                    "rule": destination.rule,
                    **_basis(notification, destination),
                },
                delivery_id=delivery.id,
                reason=destination.reason,
            )
            for delivery, destination in zip(deliveries, destinations, strict=True)
            if destination.reason
        ),
    ]


def _decisions(
    notification: Notification, destinations: list[Destination]
) -> list[dict[str, Any]]:
    decisions = {
        destination.channel.key: {
            "channel": destination.channel.key,
            "decision": "suppress" if destination.reason else "allow",
            "until": None,
            "reason": destination.reason,
            "rule": destination.rule,
            **_basis(notification, destination),
        }
        for destination in destinations
    }
    return list(decisions.values())


def _basis(notification: Notification, destination: Destination) -> dict[str, Any]:
    return {
        "preference_version": destination.preference_version,
        "time_zone": destination.time_zone,
        "at": notification.send_at.isoformat(),
    }


def _answer(
    notification: Notification, data: Mapping[str, Any], decisions: list[dict[str, Any]]
) -> bytes:
    accepted = AcceptedSerializer(
        {
            "notification_id": public_id("ntf", notification.id),
            "status": "accepted",
            "channels": data["channels"],
            "decisions": decisions,
        }
    )
    rendered: bytes = JSONRenderer().render(accepted.data)
    return rendered
