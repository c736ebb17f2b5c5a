"""What the API takes and shows of people's devices."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from foundation.ids import public_id
from preferences.devices import PushToken
from preferences.models import Device
from preferences.push_tokens import LONGEST_TOKEN, UnusableToken, check_token
from preferences.serializers.fields import TextField, TimeZoneField
from tenants.serializers import StrictSerializer


class DeviceSerializer(StrictSerializer):
    """A push token; for webpush the JSON text of the PushSubscription."""

    platform = serializers.ChoiceField(choices=Device.Platform.values)
    token = TextField(max_length=LONGEST_TOKEN)
    time_zone = TimeZoneField(
        required=False,
        help_text="Where the device is; quiet hours follow the one seen last.",
    )
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
            time_zone=self.validated_data.get("time_zone", ""),
        )


class DeviceBody(serializers.Serializer[Device]):
    """A device, without its token: who has that can push to it."""

    id = serializers.SerializerMethodField()
    platform = serializers.ChoiceField(choices=Device.Platform.values)
    time_zone = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()

    def get_id(self, device: Device) -> str:
        return public_id("dev", device.id)


class DevicesBody(serializers.Serializer[Any]):
    """A person's devices, the newest first."""

    items = DeviceBody(many=True)
