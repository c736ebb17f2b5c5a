"""The fields that people, preferences and questions are made of."""

from __future__ import annotations

import re
from typing import Any

from rest_framework import serializers

from foundation.quiet_windows import CLOCK, END_OF_DAY
from foundation.user_ids import MalformedUserId, check_user_id
from preferences.contact import UnusableAddress, normalise_address
from preferences.regional import (
    UnknownCountry,
    UnknownTimeZone,
    UnusableLocale,
    canonical_locale,
    check_country,
    check_time_zone,
)
from providers.channels import Channel
from tenants.category_catalog import UnknownCategory, find_category

CHANNEL_KEYS = [channel.key for channel in Channel]


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


class CountryField(TextField):
    """A country by its two letters, in capitals."""

    default_error_messages = {"country": "Not a country such as VN or US."}

    def to_internal_value(self, data: Any) -> Any:
        try:
            return check_country(super().to_internal_value(data))
        except UnknownCountry:
            self.fail("country")


class UserIdField(TextField):
    """The tenant's own id of a person."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return check_user_id(super().to_internal_value(data))
        except MalformedUserId as malformed:
            detail = str(MalformedUserId.__doc__)
            raise serializers.ValidationError(detail) from malformed


class ClockTimeField(TextField):
    """A time of day, HH:MM; 24:00 where the end of the day is one of them."""

    default_error_messages = {"clock_time": "Not a time from 00:00 to 23:59."}

    def __init__(self, *, with_end_of_day: bool = False, **options: Any) -> None:
        self.with_end_of_day = with_end_of_day
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> Any:
        text = super().to_internal_value(data)
        if self.with_end_of_day and text == END_OF_DAY:
            return text
        if not re.fullmatch(CLOCK, text):
            self.fail("clock_time")
        return text


def normalised(
    typed: str, *, channel: Channel, region: str | None, field: str = ""
) -> str:
    """Return an address's one spelling; raise ValidationError, of a field if named."""
    try:
        return normalise_address(typed, channel=channel, region=region)
    except UnusableAddress as refused:
        error = serializers.ErrorDetail(refused.detail, code=refused.reason)
        detail: Any = {field: [error]} if field else [error]
        raise serializers.ValidationError(detail) from refused


class CategoryField(TextField):
    """The name of one of the tenant's categories; `tenant_id` is in the context."""

    default_error_messages = {"category": "The tenant has no such category."}

    def to_internal_value(self, data: Any) -> Any:
        name = super().to_internal_value(data)
        try:
            return find_category(tenant_id=self.context["tenant_id"], name=name)
        except UnknownCategory:
            self.fail("category")


class YesOrNoField(serializers.BooleanField):
    """A JSON boolean: no text, no number."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data
