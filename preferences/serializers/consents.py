"""What the API takes and shows of the ledger of consents."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from preferences.consent import Change, Consent, Source
from preferences.models import ConsentEvent
from preferences.serializers.fields import CHANNEL_KEYS, CategoryField, TextField
from providers.channels import Channel
from tenants.serializers import StrictSerializer

_CHANGES = [each.value for each in Change]


class ConsentSerializer(StrictSerializer):
    """What a person said somewhere else: on paper, in a shop, in the product."""

    category = CategoryField()
    channel = serializers.ChoiceField(choices=CHANNEL_KEYS)
    change = serializers.ChoiceField(choices=_CHANGES)
    wording = TextField(
        max_length=100,
        required=False,
        default="",
        allow_blank=True,
        help_text="Names the version of the words that they were shown.",
    )
    evidence = TextField(
        max_length=2_000,
        required=False,
        default="",
        allow_blank=True,
        help_text="Kept sealed: a form's number, an address in a log.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["category"].is_mandatory and attrs["change"] == Change.WITHDRAWN:
            raise serializers.ValidationError(
                {"category": ["It is mandatory and cannot be switched off."]}
            )
        return attrs

    def consent(self) -> Consent:
        """Return the validated consent."""
        given = self.validated_data
        return Consent(
            channel=Channel.from_key(given["channel"]),
            category=given["category"].name,
            change=Change(given["change"]),
        )


class ConsentBody(serializers.Serializer[ConsentEvent]):
    """One line of the ledger; evidence is there or not, and shown to nobody here."""

    change = serializers.ChoiceField(choices=_CHANGES)
    channel = serializers.SerializerMethodField()
    category = serializers.CharField(
        allow_blank=True, help_text="Empty: whatever the category."
    )
    source = serializers.ChoiceField(  # type: ignore[assignment] # a base attribute
        choices=[each.value for each in Source]
    )
    wording = serializers.CharField(allow_blank=True)
    actor = serializers.CharField()
    has_evidence = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()

    def get_channel(self, event: ConsentEvent) -> str | None:
        return None if event.channel is None else Channel(event.channel).key

    def get_has_evidence(self, event: ConsentEvent) -> bool:
        return event.evidence is not None


class ConsentsBody(serializers.Serializer[Any]):
    """What a person said, the latest first."""

    items = ConsentBody(many=True)
