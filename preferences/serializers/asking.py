"""What the API takes and shows of categories, and of what would become of a message."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from preferences.explaining import Question
from preferences.serializers.fields import CHANNEL_KEYS, CategoryField
from providers.channels import Channel
from tenants.categories import CATEGORY_CHOICES, LEGAL_CLASS_CHOICES, Priority
from tenants.serializers import OffsetDateTimeField, StrictSerializer


class CategoryBody(serializers.Serializer[Any]):
    """What templates are for, and what of it a person can switch off."""

    name = serializers.CharField()
    label = serializers.CharField(  # type: ignore[assignment] # a base attribute
        allow_blank=True
    )
    labels = serializers.DictField(
        child=serializers.CharField(), help_text="The label in other languages."
    )
    base = serializers.ChoiceField(choices=CATEGORY_CHOICES)
    legal_class = serializers.ChoiceField(choices=LEGAL_CLASS_CHOICES)
    off_by_default = serializers.ListField(
        child=serializers.ChoiceField(choices=CHANNEL_KEYS)
    )


class CategoriesBody(serializers.Serializer[Any]):
    """All categories of a tenant, by name."""

    items = CategoryBody(many=True)


class QuestionSerializer(StrictSerializer):
    """What would become of a message of this category, if it were sent then?"""

    category = CategoryField()
    channels = serializers.ListField(
        child=serializers.ChoiceField(choices=CHANNEL_KEYS),
        default=CHANNEL_KEYS,
        min_length=1,
        max_length=len(CHANNEL_KEYS),
    )
    priority = serializers.ChoiceField(
        choices=[priority.key for priority in Priority],
        required=False,
        allow_null=True,
        default=None,
        help_text="Where it is null the category's own.",
    )
    at = OffsetDateTimeField(
        required=False, allow_null=True, default=None, help_text="Null is now."
    )

    def question(self) -> Question:
        """Return what is asked."""
        asked = self.validated_data
        priority = asked["priority"]
        return Question(
            category=asked["category"],
            channels=[
                Channel.from_key(key) for key in dict.fromkeys(asked["channels"])
            ],
            priority=None if priority is None else Priority[priority.upper()],
            at=asked["at"],
        )


class ConsideredBody(serializers.Serializer[Any]):
    rule = serializers.CharField()
    verdict = serializers.ChoiceField(
        choices=["suppress", "defer"],
        allow_null=True,
        help_text="Null where the rule has nothing against the message.",
    )


class ExplainedChannelBody(serializers.Serializer[Any]):
    channel = serializers.CharField(source="channel.key")
    decision = serializers.CharField(source="decision.verdict")
    reason = serializers.CharField(source="decision.reason")
    rule = serializers.CharField(source="decision.rule")
    until = serializers.DateTimeField(source="decision.until", allow_null=True)
    preference_version = serializers.IntegerField(
        source="decision.basis.preference_version"
    )
    time_zone = serializers.CharField(source="decision.basis.time_zone")
    considered = ConsideredBody(many=True)


class ExplanationBody(serializers.Serializer[Any]):
    """The decision for each channel, and the rules in turn that led to it."""

    user_id = serializers.CharField()
    category = serializers.CharField(source="explanation.category.name")
    legal_class = serializers.CharField(source="explanation.category.legal_class")
    priority = serializers.CharField(source="explanation.priority.key")
    at = serializers.DateTimeField(source="explanation.at")
    channels = ExplainedChannelBody(source="explanation.channels", many=True)
