"""The serializers that document the API and check what is not on the hot path.

NotificationSerializer accepts and refuses exactly what NotificationBody does; a test
holds the two against one corpus.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from foundation.user_ids import WHOLE_USER_ID
from notifications.cancellation import CancelResult
from notifications.serializers import body as limits
from notifications.statuses import DeliveryStatus, NotificationState
from providers.channels import Channel
from tenants.categories import Priority
from tenants.serializers import OffsetDateTimeField, StrictSerializer

CHANNELS = [channel.key for channel in Channel]
PRIORITIES = [priority.key for priority in Priority]
STATES = [state.value for state in NotificationState]
DELIVERY_STATUSES = [status.value for status in DeliveryStatus]


class StrictCharField(serializers.CharField):
    """Takes text as it is: no numbers, no trimming."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictRegexField(StrictCharField, serializers.RegexField):
    """Takes text that matches."""


class StrictIntegerField(serializers.IntegerField):
    """Takes a JSON integer: no text, no true, no 1.0."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return super().to_internal_value(data)


class RecipientPartSerializer(StrictSerializer):
    user_id = StrictRegexField(regex=WHOLE_USER_ID)
    email = StrictCharField(
        max_length=400, required=False, allow_null=True, allow_blank=True
    )
    phone = StrictCharField(
        max_length=100, required=False, allow_null=True, allow_blank=True
    )
    locale = StrictCharField(
        max_length=35, required=False, allow_null=True, allow_blank=True
    )


class TemplateSerializer(StrictSerializer):
    name = StrictRegexField(regex=limits.TEMPLATE_NAME)
    version = StrictIntegerField(
        min_value=1, max_value=limits.MAX_VERSION, required=False, allow_null=True
    )


class NotificationSerializer(StrictSerializer):
    """A notification to be sent."""

    idempotency_key = StrictCharField(
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="May come as the header Idempotency-Key instead; one is required.",
    )
    recipient = RecipientPartSerializer()
    template = TemplateSerializer()
    variables = serializers.DictField(required=False)
    channels = serializers.ListField(
        child=serializers.ChoiceField(CHANNELS),
        min_length=1,
        max_length=limits.MAX_CHANNELS,
    )
    send_at = OffsetDateTimeField(
        required=False, allow_null=True, help_text="At most 400 days ahead."
    )
    expires_at = OffsetDateTimeField(
        required=False,
        allow_null=True,
        help_text="Not sent after this moment, at most 400 days after send_at.",
    )
    dedupe_window_seconds = StrictIntegerField(
        min_value=limits.SHORTEST_DEDUPE,
        max_value=limits.LONGEST_DEDUPE,
        required=False,
        allow_null=True,
        help_text="How long the key is kept; 7 days after send_at if absent.",
    )
    priority = serializers.ChoiceField(PRIORITIES, required=False, allow_null=True)
    reference = StrictCharField(
        max_length=limits.LONGEST_REFERENCE,
        required=False,
        allow_null=True,
        allow_blank=True,
    )
    metadata = serializers.DictField(
        child=StrictCharField(max_length=limits.METADATA_VALUE, allow_blank=True),
        required=False,
        help_text="At most 20 strings of your own, given back when asked.",
    )

    def validate_channels(self, channels: list[str]) -> list[str]:
        if len(set(channels)) < len(channels):
            raise serializers.ValidationError("A channel is named twice.")
        return channels

    def validate_metadata(self, metadata: dict[str, str]) -> dict[str, str]:
        fits = all(1 <= len(key) <= limits.METADATA_KEY for key in metadata)
        if len(metadata) > limits.MAX_METADATA or not fits:
            raise serializers.ValidationError("Too many or too long.")
        return metadata


class DecisionSerializer(serializers.Serializer[Any]):
    channel = serializers.ChoiceField(CHANNELS)
    decision = serializers.ChoiceField(["allow", "suppress", "defer"])
    until = serializers.DateTimeField(
        allow_null=True, help_text="When what is deferred will be due."
    )
    reason = serializers.CharField(allow_blank=True)
    rule = serializers.CharField(allow_blank=True)
    preference_version = serializers.IntegerField(
        help_text="Of the person's preferences; 0 where nothing was chosen."
    )
    time_zone = serializers.CharField(
        allow_blank=True, help_text="Of the quiet hours, else the person's own."
    )
    at = serializers.DateTimeField(help_text="The moment that it was decided for.")


class AcceptedSerializer(serializers.Serializer[Any]):
    notification_id = serializers.CharField()
    status = serializers.ChoiceField(["accepted"])
    channels = serializers.ListField(child=serializers.ChoiceField(CHANNELS))
    decisions = DecisionSerializer(many=True)


class DeliverySerializer(serializers.Serializer[Any]):
    delivery_id = serializers.CharField()
    channel = serializers.ChoiceField(CHANNELS)
    status = serializers.ChoiceField(DELIVERY_STATUSES)
    waiting_for = serializers.ChoiceField(
        [
            "",
            "schedule",
            "quiet_hours",
            "snooze",
            "order",
            "worker",
            "retry",
            "quota",
            "provider",
            "operator",
        ],
        help_text="What an unfinished delivery waits for.",
    )
    next_attempt_at = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField()
    maybe_sent = serializers.BooleanField(
        help_text="The outcome of an attempt is unknown: it may have arrived."
    )
    reason = serializers.CharField(allow_blank=True)
    code = serializers.CharField(allow_blank=True, help_text="The provider's word.")
    provider = serializers.CharField(allow_blank=True)
    updated_at = serializers.DateTimeField()


class NotificationStatusSerializer(serializers.Serializer[Any]):
    notification_id = serializers.CharField()
    status = serializers.ChoiceField(STATES)
    user_id = serializers.CharField()
    category = serializers.CharField(help_text="The template's.")
    priority = serializers.ChoiceField(PRIORITIES)
    reference = serializers.CharField(allow_blank=True)
    is_test = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    send_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    channels = DeliverySerializer(many=True)


class NotificationDetailSerializer(NotificationStatusSerializer):
    template = TemplateSerializer()
    decisions = DecisionSerializer(
        many=True, help_text="What was decided at acceptance."
    )
    metadata = serializers.DictField(child=serializers.CharField())


class NotificationPageSerializer(serializers.Serializer[Any]):
    items = NotificationStatusSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ListQuerySerializer(StrictSerializer):
    """The filters of the list; status and channel need another one beside them."""

    user_id = StrictRegexField(regex=WHOLE_USER_ID, required=False)
    reference = StrictCharField(max_length=limits.LONGEST_REFERENCE, required=False)
    status = serializers.ChoiceField(STATES, required=False)
    channel = serializers.ChoiceField(CHANNELS, required=False)
    created_from = OffsetDateTimeField(required=False)
    created_to = OffsetDateTimeField(required=False)
    cursor = serializers.CharField(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class CancelSerializer(StrictSerializer):
    """What cancelling takes: nothing but a key."""

    idempotency_key = StrictCharField(required=False, allow_null=True, allow_blank=True)


class ChannelResultSerializer(serializers.Serializer[Any]):
    delivery_id = serializers.CharField()
    channel = serializers.ChoiceField(CHANNELS)
    result = serializers.ChoiceField([result.value for result in CancelResult])
    status = serializers.ChoiceField(DELIVERY_STATUSES)


class CancelledSerializer(serializers.Serializer[Any]):
    notification_id = serializers.CharField()
    channels = ChannelResultSerializer(many=True)


class CancelReferenceSerializer(CancelSerializer):
    """Which notifications to cancel: a page of those with a reference."""

    reference = StrictCharField(
        max_length=limits.LONGEST_REFERENCE,
        help_text="As it was given with the notifications.",
    )
    cursor = StrictCharField(
        required=False,
        allow_null=True,
        help_text="The next_cursor of the page before, of the same reference.",
    )
    limit = StrictIntegerField(
        min_value=1, max_value=500, default=100, help_text="Notifications in a page."
    )


class CancelledPageSerializer(serializers.Serializer[Any]):
    items = CancelledSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)
