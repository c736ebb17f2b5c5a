"""What the API takes and shows of people, their devices and preferences."""

from __future__ import annotations

import re
from typing import Any

from rest_framework import serializers

from foundation.ids import public_id
from preferences.contact import UnusableAddress, normalise_email, normalise_phone
from preferences.devices import PushToken
from preferences.models import Address, Device
from preferences.notification_preferences import Choices
from preferences.push_tokens import LONGEST_TOKEN, UnusableToken, check_token
from preferences.recipients import RecipientDetails, TypedAddress
from preferences.regional import (
    UnknownTimeZone,
    UnusableLocale,
    canonical_locale,
    check_time_zone,
)
from providers.channels import Channel
from tenants.serializers import StrictSerializer

CHANNEL_KEYS = [channel.key for channel in Channel]
_CLOCK_TIME = re.compile("([01][0-9]|2[0-3]):[0-5][0-9]")


class TextField(serializers.CharField):
    """Text as it was sent: not trimmed, and never made out of a number."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class LocaleField(TextField):
    """A BCP 47 tag, kept in its usual case."""

    default_error_messages = {
        "locale": "Not a language tag such as vi, en-GB or zh-Hant-TW."
    }

    def to_internal_value(self, data: Any) -> Any:
        try:
            return canonical_locale(super().to_internal_value(data))
        except UnusableLocale:
            self.fail("locale")


class TimeZoneField(TextField):
    """A name of the IANA time zone database."""

    default_error_messages = {
        "time_zone": "Not an IANA time zone such as Asia/Ho_Chi_Minh."
    }

    def to_internal_value(self, data: Any) -> Any:
        try:
            return check_time_zone(super().to_internal_value(data))
        except UnknownTimeZone:
            self.fail("time_zone")


class ClockTimeField(TextField):
    """A time of day, HH:MM."""

    default_error_messages = {"clock_time": "Not a time from 00:00 to 23:59."}

    def to_internal_value(self, data: Any) -> Any:
        text = super().to_internal_value(data)
        if not _CLOCK_TIME.fullmatch(text):
            self.fail("clock_time")
        return text


class ContactField(TextField):
    """An e-mail address or phone number, kept as typed beside its one spelling."""

    def __init__(self, *, channel: Channel, **options: Any) -> None:
        self.channel = channel
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> Any:
        typed = super().to_internal_value(data)
        try:
            normalised = self._normalise(typed)
        except UnusableAddress as refused:
            raise serializers.ValidationError(
                refused.detail, code=refused.reason
            ) from refused
        return TypedAddress(typed=typed, normalised=normalised)

    def _normalise(self, typed: str) -> str:
        if self.channel is Channel.EMAIL:
            return normalise_email(typed)
        return normalise_phone(typed, region=self.context["region"])


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


class QuietHoursSerializer(StrictSerializer):
    """From start until just before end, over midnight if end is the earlier one.

    What would disturb the person waits for their end: all marketing, and transactional
    messages that are not high. OTPs and the inbox never wait.
    """

    start = ClockTimeField()
    end = ClockTimeField()
    time_zone = TimeZoneField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Where it is null the recipient's own, else the tenant's.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["start"] == attrs["end"]:
            raise serializers.ValidationError(
                {"end": ["Quiet hours that end when they start are none or all day."]}
            )
        return attrs


class PreferencesSerializer(StrictSerializer):
    """All of a person's choices: they replace the stored ones."""

    opt_outs = serializers.ListField(
        child=serializers.ChoiceField(choices=CHANNEL_KEYS),
        max_length=len(CHANNEL_KEYS),
        help_text="Channels that nothing may go out on.",
    )
    quiet_hours = QuietHoursSerializer(required=False, allow_null=True, default=None)

    def validate_opt_outs(self, channels: list[str]) -> list[str]:
        if len(set(channels)) != len(channels):
            raise serializers.ValidationError("Name each channel once.")
        return sorted(channels)

    def choices(self) -> Choices:
        """Return the validated choices."""
        return Choices(**self.validated_data)


class PreferencesBody(serializers.Serializer[Any]):
    """A person's choices and their version, which is the ETag too."""

    user_id = serializers.CharField()
    version = serializers.IntegerField()
    opt_outs = serializers.ListField(
        child=serializers.ChoiceField(choices=CHANNEL_KEYS)
    )
    quiet_hours = QuietHoursSerializer(allow_null=True)
    updated_at = serializers.DateTimeField(allow_null=True)
