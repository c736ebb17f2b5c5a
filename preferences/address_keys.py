"""Blind indexes: which two spellings are one address, without storing either."""

from __future__ import annotations

import json

from preferences.models import Device
from providers.channels import Channel
from tenants.data_keys import blind_index


def address_key(*, tenant_id: int, channel: Channel, value: str) -> bytes:
    """Hash a normalised address.

    The case of an e-mail's local part is kept for sending but tells no two people
    apart, so that an opt-out or a bounce covers every spelling.
    """
    return blind_index(tenant_id=tenant_id, purpose=channel.key, value=value.lower())


def device_key(*, tenant_id: int, platform: str, token: str) -> bytes:
    """Hash a push token; a browser's subscription is told by its endpoint alone."""
    is_subscription = platform == Device.Platform.WEBPUSH
    identity = json.loads(token)["endpoint"] if is_subscription else token
    return blind_index(
        tenant_id=tenant_id, purpose="device", value=f"{platform}|{identity}"
    )
