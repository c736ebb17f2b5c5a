from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from tenants.scopes import Audience
from tenants.user_tokens import DEFAULT_LIFETIME, LONGEST_LIFETIME

_MOST_TOLD = 20
AwareDatetime = Annotated[datetime, msgspec.Meta(tz=True)]
AUDIENCES = [(audience.value, audience.value) for audience in Audience]


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses members it does not know, instead of dropping them silently."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = set(data) - set(self.fields) if isinstance(data, dict) else set()
        if unknown:
            # Not of all: an answer is no larger than its question by any factor.
            told = sorted(unknown)[:_MOST_TOLD]
            raise serializers.ValidationError(
                {str(name): ["This field is not known."] for name in told}
            )
        return super().to_internal_value(data)


@extend_schema_field(OpenApiTypes.DATETIME)
class OffsetDateTimeField(serializers.Field[datetime, Any, str, Any]):
    """Takes RFC 3339 with an offset; a time without a zone is nobody's time."""

    default_error_messages = {"invalid": "Must be RFC 3339 with an offset."}

    def to_internal_value(self, data: Any) -> datetime:
        try:
            return msgspec.convert(data, AwareDatetime)
        except msgspec.ValidationError:
            self.fail("invalid")

    def to_representation(self, value: datetime) -> str:
        return value.isoformat()


class NewUserToken(StrictSerializer):
    """What a service asks for on behalf of one of its users."""

    audience = serializers.ChoiceField(
        choices=AUDIENCES,
        default=Audience.INBOX.value,
        help_text="What the token is for.",
    )
    lifetime_seconds = serializers.IntegerField(
        min_value=60,
        max_value=int(LONGEST_LIFETIME.total_seconds()),
        default=int(DEFAULT_LIFETIME.total_seconds()),
    )


class UserToken(serializers.Serializer[Any]):
    """A token to hand to the user's browser or app."""

    token = serializers.CharField()
    audience = serializers.ChoiceField(choices=AUDIENCES)
    expires_at = serializers.DateTimeField()
