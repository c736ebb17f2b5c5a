"""What comes in and what goes out, in DRF's own way."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from foundation.user_ids import USER_ID_PATTERN
from providers.channels import Channel
from tenants.categories import Priority

CHANNELS = [channel.key for channel in Channel]


class RecipientSerializer(serializers.Serializer[Any]):
    user_id = serializers.RegexField(USER_ID_PATTERN)
    locale = serializers.CharField(max_length=35, required=False)


class TemplateSerializer(serializers.Serializer[Any]):
    name = serializers.SlugField(max_length=100)
    version = serializers.IntegerField(min_value=1, required=False)


class NotificationSerializer(serializers.Serializer[Any]):
    idempotency_key = serializers.CharField(max_length=255)
    recipient = RecipientSerializer()
    template = TemplateSerializer()
    variables = serializers.DictField(required=False, default=dict)
    channels = serializers.ListField(
        child=serializers.ChoiceField(CHANNELS), min_length=1, max_length=4
    )
    send_at = serializers.DateTimeField(required=False)
    expires_at = serializers.DateTimeField(required=False)
    dedupe_window_seconds = serializers.IntegerField(
        min_value=60, max_value=30 * 24 * 3600, required=False
    )
    priority = serializers.ChoiceField(
        [priority.key for priority in Priority], required=False
    )
    reference = serializers.CharField(max_length=200, required=False, default="")
    metadata = serializers.DictField(
        child=serializers.CharField(max_length=500), required=False, default=dict
    )

    def validate_channels(self, channels: list[str]) -> list[str]:
        if len(set(channels)) < len(channels):
            raise serializers.ValidationError("A channel is named twice.")
        return channels


class DecisionSerializer(serializers.Serializer[Any]):
    channel = serializers.CharField()
    decision = serializers.CharField()
    until = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField()
    rule = serializers.CharField()
    preference_version = serializers.IntegerField()
    time_zone = serializers.CharField()
    at = serializers.DateTimeField()


class AcceptedSerializer(serializers.Serializer[Any]):
    notification_id = serializers.CharField()
    status = serializers.CharField()
    channels = serializers.ListField(child=serializers.CharField())
    decisions = DecisionSerializer(many=True)
