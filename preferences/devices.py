"""Register the devices that take a person's push messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection, transaction

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.database_clock import AppNow
from foundation.ids import public_id
from preferences.address_keys import device_key
from preferences.models import Device, Recipient
from preferences.recipients import UnknownRecipient
from tenants.data_keys import seal


class UnknownDevice(LookupError):
    """This user has no such device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushToken:
    """What a platform gave an app to be reached by."""

    platform: Device.Platform
    value: str = field(repr=False)
    # "" where the app did not say.
    time_zone: str = ""


def register_device(
    *, tenant_id: int, user_id: str, token: PushToken, actor: str
) -> tuple[Device, bool]:
    """Give a token to this user, who need not have a profile; say if it is new to them.

    Whoever had it before is someone who logged out of the same phone: the device moves
    and gets a new id, so that what was on its way to them finds no device.
    """
    key = device_key(tenant_id=tenant_id, platform=token.platform, token=token.value)
    with transaction.atomic():
        _lock_token(key)
        recipient, _ = Recipient.objects.get_or_create(
            tenant_id=tenant_id, user_id=user_id
        )
        device = Device.objects.filter(tenant_id=tenant_id, key=key).first()
        if device is not None and device.recipient_id == recipient.pk:
            return _keep(device, token), False
        fresh = Device(
            tenant_id=tenant_id,
            recipient=recipient,
            platform=token.platform,
            key=key,
        )
        if device is not None:
            Device.objects.filter(id=device.id).delete()
            _record_move(previous=device, device=fresh, actor=actor)
        return _keep(fresh, token), True


def list_devices(*, tenant_id: int, user_id: str) -> list[Device]:
    """Return a user's devices, the newest first; raise UnknownRecipient."""
    recipient = Recipient.objects.filter(tenant_id=tenant_id, user_id=user_id).first()
    if recipient is None:
        raise UnknownRecipient
    return list(recipient.devices.order_by("-id"))


def remove_device(*, tenant_id: int, user_id: str, device_id: UUID) -> None:
    """Forget a device; raise UnknownDevice if this user has none of that id."""
    deleted, _ = Device.objects.filter(
        tenant_id=tenant_id, recipient__user_id=user_id, id=device_id
    ).delete()
    if not deleted:
        raise UnknownDevice


def _lock_token(key: bytes) -> None:
    # Two people cannot register one token at the same moment and both see it free.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s)",
            [int.from_bytes(key[:8], "big", signed=True)],
        )


def _keep(device: Device, token: PushToken) -> Device:
    device.token = seal(
        tenant_id=device.tenant_id,
        table="device.token",
        row=device.id,
        plaintext=token.value.encode(),
    )
    device.time_zone = token.time_zone
    device.last_seen_at = AppNow()
    device.save()
    device.refresh_from_db(fields=["created_at", "last_seen_at"])
    return device


def _record_move(*, previous: Device, device: Device, actor: str) -> None:
    # By row ids, not by user ids: the trail outlives an erasure.
    moved = AuditRecord(
        kind=EventKind.DEVICE_MOVED,
        tenant_id=device.tenant_id,
        actor=actor,
        detail={
            "from_device": public_id("dev", previous.id),
            "to_device": public_id("dev", device.id),
            "from_recipient": previous.recipient_id,
            "to_recipient": device.recipient_id,
        },
    )
    with connection.cursor() as cursor:
        record_events(cursor, [moved])
