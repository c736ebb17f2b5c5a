"""What the API takes and shows of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rest_framework import serializers

from preferences.recipients import (
    MOST_ADDRESSES,
    RecipientDetails,
    Standing,
    TypedAddress,
)
from preferences.saving import Saved
from preferences.serializers.fields import (
    CountryField,
    LocaleField,
    TextField,
    TimeZoneField,
    UserIdField,
    YesOrNoField,
    normalised,
)
from providers.channels import Channel
from tenants.serializers import StrictSerializer

ADDRESS_CHANNELS = (Channel.EMAIL, Channel.SMS)
MOST_USERS = 1_000
# Those that stand for a list of one.
_SHORT = {"email": Channel.EMAIL, "phone": Channel.SMS}


class AddressSerializer(StrictSerializer):
    """An address: with `verified` left out, what was known of it stays."""

    # Without what was given: that may be an address, and answers are kept.
    channel = serializers.ChoiceField(
        choices=[each.key for each in ADDRESS_CHANNELS],
        error_messages={"invalid_choice": "It is email or sms."},
    )
    value = TextField()
    verified = YesOrNoField(required=False)


class UserSerializer(StrictSerializer):
    """A person, whole: what is left out or null is forgotten.

    Numbers without a country code are of the person's country, or the tenant's
    (`region` in the context).
    """

    locale = LocaleField(required=False, allow_null=True)
    time_zone = TimeZoneField(required=False, allow_null=True)
    country = CountryField(required=False, allow_null=True)
    email = TextField(required=False, allow_null=True)
    phone = TextField(required=False, allow_null=True)
    addresses = AddressSerializer(  # type: ignore[call-arg] # of its list
        many=True,
        required=False,
        allow_null=True,
        max_length=MOST_ADDRESSES * len(ADDRESS_CHANNELS),
        help_text="Instead of `email` and `phone`: several of a channel, the first is"
        " sent to as long as nothing speaks against it.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        region = attrs.get("country") or self.context["region"]
        short = [name for name in _SHORT if attrs.get(name) is not None]
        listed = attrs.get("addresses")
        if listed is not None and short:
            raise serializers.ValidationError(
                {
                    name: ["It is one of `addresses`, where those are given."]
                    for name in short
                }
            )
        if listed is None:
            attrs["addresses"] = _typed_short(attrs, short, region)
        else:
            attrs["addresses"] = _typed_list(listed, region)
        return attrs

    def details(self) -> RecipientDetails:
        """Return the validated person."""
        given = self.validated_data
        return RecipientDetails(
            locale=given.get("locale") or "",
            time_zone=given.get("time_zone") or "",
            country=given.get("country") or "",
            addresses=given["addresses"],
        )


class ListedUserSerializer(UserSerializer):
    """A person of many."""

    user_id = UserIdField()


class UsersSerializer(StrictSerializer):
    """Many people; each is looked at by itself."""

    users = serializers.ListField(
        child=serializers.JSONField(allow_null=True),
        min_length=1,
        max_length=MOST_USERS,
    )
    idempotency_key = serializers.CharField(required=False, trim_whitespace=False)


class PageOfUsersQuery(StrictSerializer):
    """Which page of the people."""

    cursor = TextField(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=MOST_USERS, default=200)


class AddressBody(serializers.Serializer[Any]):
    """An address: `value` is sent to, `typed` is what was given."""

    channel = serializers.ChoiceField(
        choices=[each.key for each in ADDRESS_CHANNELS], source="channel.key"
    )
    value = serializers.CharField(source="normalised")
    typed = serializers.CharField()
    status = serializers.ChoiceField(
        choices=[each.value for each in Standing], source="standing"
    )


class RecipientBody(serializers.Serializer[Any]):
    """A person as stored."""

    user_id = serializers.CharField()
    locale = serializers.CharField(allow_null=True)
    time_zone = serializers.CharField(allow_null=True)
    country = serializers.CharField(allow_null=True)
    email = serializers.CharField(allow_null=True)
    phone = serializers.CharField(allow_null=True)
    addresses = AddressBody(many=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class RecipientsBody(serializers.Serializer[Any]):
    """A page of people, by their ids."""

    items = RecipientBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class FieldProblemBody(serializers.Serializer[Any]):
    """One thing wrong: where, as a JSON pointer into the body, and what."""

    pointer = serializers.CharField()
    detail = serializers.CharField()


class SavedUserBody(serializers.Serializer[Any]):
    """What became of one person of a list."""

    user_id = serializers.CharField(allow_null=True)
    outcome = serializers.ChoiceField(
        choices=[*(each.value for each in Saved), "refused"]
    )
    errors = FieldProblemBody(many=True)  # type: ignore[assignment] # a base attribute


class SavedUsersBody(serializers.Serializer[Any]):
    """What became of each, in the order of the call."""

    results = SavedUserBody(many=True)


def _typed_short(
    attrs: Mapping[str, Any], names: Iterable[str], region: str | None
) -> list[TypedAddress]:
    problems: dict[str, Any] = {}
    addresses = []
    for name in names:
        try:
            addresses.append(_typed({"value": attrs[name]}, _SHORT[name], region))
        except serializers.ValidationError as refused:
            problems[name] = refused.detail
    if problems:
        raise serializers.ValidationError(problems)
    return addresses


def _typed_list(
    listed: Iterable[Mapping[str, Any]], region: str | None
) -> list[TypedAddress]:
    addresses: list[TypedAddress] = []
    problems: list[dict[str, Any]] = []
    known: set[tuple[Channel, str]] = set()
    numbers: Counter[Channel] = Counter()
    for each in listed:
        channel = Channel.from_key(each["channel"])
        problem: dict[str, Any] = {}
        try:
            address = _typed(each, channel, region)
        except serializers.ValidationError as refused:
            problem = {"value": refused.detail}
        else:
            numbers[channel] += 1
            # The case before the @ tells no two people apart.
            spelling = (channel, address.normalised.lower())
            if spelling in known:
                problem = {"value": ["It is there already."]}
            elif numbers[channel] > MOST_ADDRESSES:
                problem = {"value": [f"At most {MOST_ADDRESSES} of a channel."]}
            known.add(spelling)
            addresses.append(address)
        problems.append(problem)
    if any(problems):
        raise serializers.ValidationError({"addresses": problems})
    return addresses


def _typed(
    given: Mapping[str, Any], channel: Channel, region: str | None
) -> TypedAddress:
    return TypedAddress(
        channel=channel,
        typed=given["value"],
        normalised=normalised(given["value"], channel=channel, region=region),
        is_verified=given.get("verified"),
    )
