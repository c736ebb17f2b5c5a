"""What the API takes and shows of the suppression list."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from foundation.ids import public_id
from preferences.address_keys import address_key
from preferences.held import Held, Reason
from preferences.models import Suppression
from preferences.serializers.fields import CategoryField, normalised
from preferences.suppression import Entry
from providers.channels import Channel
from tenants.serializers import StrictSerializer

ADDRESS_CHANNELS = ["email", "sms"]


class SuppressionSerializer(StrictSerializer):
    """An address, and why nothing may be sent to it."""

    channel = serializers.ChoiceField(choices=ADDRESS_CHANNELS)
    address = serializers.CharField(trim_whitespace=False)
    reason = serializers.ChoiceField(choices=[each.value for each in Reason])
    category = CategoryField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Null: whatever the category.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs["channel"] = Channel.from_key(attrs["channel"])
        attrs["address"] = normalised(
            attrs["address"],
            channel=attrs["channel"],
            region=self.context["region"],
            field="address",
        )
        return attrs

    def entry(self, *, tenant_id: int, actor: str) -> Entry:
        """Return what is to be put on the list."""
        given = self.validated_data
        category = given["category"]
        return Entry(
            tenant_id=tenant_id,
            channel=given["channel"],
            key=address_key(
                tenant_id=tenant_id, channel=given["channel"], value=given["address"]
            ),
            held=Held(
                reason=Reason(given["reason"]),
                category="" if category is None else category.name,
            ),
            actor=actor,
        )


class SuppressionBody(serializers.Serializer[Suppression]):
    """An entry; the address itself is kept nowhere."""

    id = serializers.SerializerMethodField()
    channel = serializers.CharField(source="get_channel_display")
    reason = serializers.ChoiceField(choices=[each.value for each in Reason])
    category = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()

    def get_id(self, row: Suppression) -> str:
        return public_id("sup", row.id)
