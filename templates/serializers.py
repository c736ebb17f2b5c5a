"""What the API takes and shows of previews."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from providers.channels import Channel
from providers.sms_text import Alphabet
from templates.locales import MalformedLocale, canonical_locale
from templates.measures import WarningCode
from templates.models import TemplateVersion
from templates.previewing import MOST_LOCALES, Wish
from tenants.serializers import StrictSerializer

CHANNEL_KEYS = [channel.key for channel in Channel]
ALPHABETS = [alphabet.value for alphabet in Alphabet]
WARNING_CODES = [code.value for code in WarningCode]
VERSION_STATUSES = list(TemplateVersion.Status.values)


class LocaleField(serializers.CharField):
    """Takes a language tag, and gives it in its usual case."""

    def to_internal_value(self, data: Any) -> str:
        try:
            return canonical_locale(super().to_internal_value(data))
        except MalformedLocale as malformed:
            raise serializers.ValidationError(
                MalformedLocale.__doc__ or ""
            ) from malformed


class WishSerializer(StrictSerializer):
    """What to show; what is left out is the version's to say."""

    version = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        allow_null=True,
        help_text="Drafts and retired ones too; the latest approved one if absent.",
    )
    channels = serializers.ListField(
        child=serializers.ChoiceField(CHANNEL_KEYS),
        min_length=1,
        max_length=len(CHANNEL_KEYS),
        required=False,
        allow_null=True,
    )
    locale = LocaleField(required=False, allow_null=True, help_text="One of `locales`.")
    locales = serializers.ListField(
        child=LocaleField(),
        min_length=1,
        max_length=MOST_LOCALES,
        required=False,
        allow_null=True,
        help_text="Whose people to show it for; what stands in for a locale without a"
        " text of its own is shown. All that the version has if absent.",
    )
    variables = serializers.DictField(
        required=False, allow_null=True, help_text="The version's sample if absent."
    )

    def validate(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked.get("locale") and asked.get("locales"):
            raise serializers.ValidationError(
                {"locales": "Name a locale or several, not both ways."}
            )
        return asked

    def wish(self) -> Wish:
        """Return what is to be shown."""
        asked = self.validated_data
        channels, locales = asked.get("channels"), asked.get("locales")
        if locale := asked.get("locale"):
            locales = [locale]
        return Wish(
            channels=channels
            and [Channel.from_key(key) for key in dict.fromkeys(channels)],
            locales=locales and list(dict.fromkeys(locales)),
            variables=asked.get("variables"),
        )


class ProblemBody(serializers.Serializer[Any]):
    where = serializers.CharField(help_text="Such as `email/en/html, line 3`.")
    message = serializers.CharField()


class WarningBody(serializers.Serializer[Any]):
    code = serializers.ChoiceField(WARNING_CODES)
    message = serializers.CharField()


class ForcingBody(serializers.Serializer[Any]):
    position = serializers.IntegerField(help_text="In characters, from 0.")
    character = serializers.CharField()

    def to_representation(self, instance: tuple[int, str]) -> dict[str, Any]:
        position, character = instance
        return {"position": position, "character": character}


class SmsBody(serializers.Serializer[Any]):
    """How a text message goes out and is billed."""

    alphabet = serializers.ChoiceField(ALPHABETS)
    units = serializers.IntegerField(help_text="What segments are counted in.")
    segments = serializers.IntegerField()
    forcing = ForcingBody(
        many=True, help_text="Because of these it is not in the basic alphabet."
    )


class ReplacementBody(serializers.Serializer[Any]):
    position = serializers.IntegerField(help_text="Of the text as it was, from 0.")
    character = serializers.CharField()
    replacement = serializers.CharField(allow_blank=True)


class PushBody(serializers.Serializer[Any]):
    bytes = serializers.IntegerField(
        allow_null=True, help_text="Of the payload, of 4096; null where there is none."
    )


class EmailBody(serializers.Serializer[Any]):
    html_bytes = serializers.IntegerField(allow_null=True)
    bytes = serializers.IntegerField(help_text="Of the whole, encoded, about.")


class PreviewBody(serializers.Serializer[Any]):
    """A message on one channel for people of one locale."""

    channel = serializers.ChoiceField(CHANNEL_KEYS, source="channel.key")
    asked_locale = serializers.CharField()
    locale = serializers.CharField(
        source="rendered.locale", default=None, allow_null=True
    )
    parts = serializers.DictField(
        child=serializers.CharField(), source="rendered.parts", default=dict
    )
    replacements = ReplacementBody(
        source="rendered.replacements",
        many=True,
        default=list,
        help_text="What transliteration changed in a text message.",
    )
    problem = ProblemBody(allow_null=True, help_text="Why there are no parts.")
    warnings = WarningBody(many=True)
    sms = SmsBody(source="measures.sms", allow_null=True)
    push = PushBody(source="measures.push", allow_null=True)
    email = EmailBody(source="measures.email", allow_null=True)


class PreviewedVersionBody(serializers.Serializer[Any]):
    """All that was asked for."""

    template = serializers.CharField(source="version.template.name")
    version = serializers.IntegerField(source="version.number")
    status = serializers.ChoiceField(VERSION_STATUSES, source="version.status")
    problems = ProblemBody(
        many=True, help_text="What stands against approving a draft."
    )
    previews = PreviewBody(many=True)
