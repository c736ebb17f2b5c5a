"""What an acceptance must know first: the template's version and the person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Prefetch
from rest_framework.exceptions import ValidationError

from preferences.models import Address, Device, NotificationPreferences, Recipient
from providers.channels import Channel
from templates.models import TemplateVersion
from templates.variables import check_variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One delivery to be, and why it is held back if it is."""

    channel: Channel
    address: Address | Device | None = None
    reason: str = ""
    rule: str = ""
    preference_version: int = 0
    time_zone: str = ""


def find_version(
    *, tenant_id: int, template: Mapping[str, Any], data: Mapping[str, Any]
) -> TemplateVersion:
    """Return the approved version asked for, if channels and variables fit it."""
    versions = TemplateVersion.objects.select_related("template").filter(
        template__tenant_id=tenant_id,
        template__name=template["name"],
        status=TemplateVersion.Status.APPROVED,
    )
    if "version" in template:
        versions = versions.filter(number=template["version"])
    version = versions.order_by("-number").first()
    if version is None:
        raise ValidationError({"template": "There is no such approved version."})
    known = set(version.contents.values_list("channel", flat=True).distinct())
    if any(Channel.from_key(key) not in known for key in data["channels"]):
        raise ValidationError({"channels": "The template has no such content."})
    errors = check_variables(schema=version.schema, variables=data["variables"])
    if errors:
        raise ValidationError({"variables": [error.message for error in errors]})
    return version


def find_destinations(
    *, tenant_id: int, user_id: str, channels: list[Channel]
) -> list[Destination]:
    """Return where each channel leads; for push every device."""
    usable = [Address.Status.UNVERIFIED, Address.Status.VERIFIED]
    related: list[Any] = [
        Prefetch(
            "addresses",
            Address.objects.filter(status__in=usable).order_by("position", "id"),
        )
    ]
    if Channel.PUSH in channels:
        related.append(Prefetch("devices", Device.objects.order_by("id")))
    recipient = (
        Recipient.objects.filter(tenant_id=tenant_id, user_id=user_id)
        .prefetch_related(*related)
        .first()
    )
    preferences = NotificationPreferences.objects.filter(
        tenant_id=tenant_id, user_id=user_id
    ).first()
    opt_outs = set(preferences.opt_outs) if preferences else set()
    return [
        replace(
            destination,
            preference_version=preferences.version if preferences else 0,
            time_zone=recipient.time_zone if recipient else "",
        )
        for channel in channels
        for destination in _lead(channel, recipient, opted_out=channel.key in opt_outs)
    ]


def _lead(
    channel: Channel, recipient: Recipient | None, *, opted_out: bool
) -> list[Destination]:
    reason, rule = ("opted_out", "channel_opt_out") if opted_out else ("", "")
    if channel is Channel.IN_APP:
        return [Destination(channel=channel, reason=reason, rule=rule)]
    addresses = _addresses(channel, recipient) if recipient else []
    if not addresses:
        reason, rule = reason or "no_address", rule or "address_known"
        return [Destination(channel=channel, reason=reason, rule=rule)]
    return [
        Destination(channel=channel, address=address, reason=reason, rule=rule)
        for address in addresses
    ]


def _addresses(channel: Channel, recipient: Recipient) -> Sequence[Address | Device]:
    if channel is Channel.PUSH:
        return list(recipient.devices.all())
    return [each for each in recipient.addresses.all() if each.channel == channel][:1]
