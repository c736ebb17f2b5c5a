"""What the API takes and shows of people and their devices."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from foundation.ids import public_id
from preferences.devices import PushToken
from preferences.models import Address, Device
from preferences.push_tokens import LONGEST_TOKEN, UnusableToken, check_token
from preferences.recipients import RecipientDetails
from preferences.serializers.fields import (
    ContactField,
    LocaleField,
    TextField,
    TimeZoneField,
)
from providers.channels import Channel
from tenants.serializers import StrictSerializer


class UserSerializer(StrictSerializer):
    """A person, whole: what is left out or null is forgotten."""

    locale = LocaleField(required=False, allow_null=True)
    time_zone = TimeZoneField(required=False, allow_null=True)
    email = ContactField(channel=Channel.EMAIL, required=False, allow_null=True)
    phone = ContactField(channel=Channel.SMS, required=False, allow_null=True)

    def details(self) -> RecipientDetails:
        """Return the validated person."""
        given = self.validated_data
        contacts = {Channel.EMAIL: given.get("email"), Channel.SMS: given.get("phone")}
        return RecipientDetails(
            locale=given.get("locale") or "",
            time_zone=given.get("time_zone") or "",
            addresses={
                channel: contact
                for channel, contact in contacts.items()
                if contact is not None
            },
        )


class AddressBody(serializers.Serializer[Any]):
    """An address: `value` is sent to, `typed` is what was given."""

    channel = serializers.ChoiceField(choices=["email", "sms"], source="channel.key")
    value = serializers.CharField(source="normalised")
    typed = serializers.CharField()
    status = serializers.ChoiceField(choices=Address.Status.values)


class RecipientBody(serializers.Serializer[Any]):
    """A person as stored."""

    user_id = serializers.CharField()
    locale = serializers.CharField(allow_null=True)
    time_zone = serializers.CharField(allow_null=True)
    email = serializers.CharField(allow_null=True)
    phone = serializers.CharField(allow_null=True)
    addresses = AddressBody(many=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class DeviceSerializer(StrictSerializer):
    """A push token; for webpush the JSON text of the PushSubscription."""

    platform = serializers.ChoiceField(choices=Device.Platform.values)
    token = TextField(max_length=LONGEST_TOKEN)
    idempotency_key = serializers.CharField(required=False, trim_whitespace=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        try:
            attrs["token"] = check_token(attrs["platform"], attrs["token"])
        except UnusableToken as refused:
            raise serializers.ValidationError({"token": [str(refused)]}) from refused
        return attrs

    def push_token(self) -> PushToken:
        """Return the validated token."""
        return PushToken(
            platform=Device.Platform(self.validated_data["platform"]),
            value=self.validated_data["token"],
        )


class DeviceBody(serializers.Serializer[Device]):
    """A device, without its token: who has that can push to it."""

    id = serializers.SerializerMethodField()
    platform = serializers.ChoiceField(choices=Device.Platform.values)
    created_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()

    def get_id(self, device: Device) -> str:
        return public_id("dev", device.id)


class DevicesBody(serializers.Serializer[Any]):
    """A person's devices, the newest first."""

    items = DeviceBody(many=True)
