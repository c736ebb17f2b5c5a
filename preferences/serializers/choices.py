"""What the API takes and shows of what a person does not want."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from rest_framework import serializers

from foundation.database_clock import database_now
from foundation.quiet_hours import DAYS, leaves_a_minute
from foundation.quiet_windows import window_of
from preferences.links import LONGEST_LIFE, SHORT_LIFE
from preferences.notification_preferences import Choices
from preferences.serializers.fields import (
    CHANNEL_KEYS,
    ClockTimeField,
    TimeZoneField,
    YesOrNoField,
)
from tenants.category_catalog import UnknownCategory, find_category
from tenants.serializers import OffsetDateTimeField, StrictSerializer

_MOST_WINDOWS = 14
_LONGEST_SNOOZE = timedelta(days=366)


class WindowSerializer(StrictSerializer):
    """From start until just before end, beginning on these days; over midnight if end
    is the earlier one."""

    days = serializers.ListField(
        child=serializers.ChoiceField(choices=DAYS), min_length=1, max_length=len(DAYS)
    )
    start = ClockTimeField()
    end = ClockTimeField(with_end_of_day=True)

    def validate_days(self, days: list[str]) -> list[str]:
        if len(set(days)) != len(days):
            raise serializers.ValidationError("Name each day once.")
        return sorted(days, key=DAYS.index)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return _ends_later(attrs)


class QuietHoursSerializer(StrictSerializer):
    """From start until just before end every day, over midnight if end is the earlier
    one; or windows by weekday.

    What would disturb the person waits for their end: all marketing, and transactional
    messages that are not high. What is mandatory and the inbox never wait.
    """

    start = ClockTimeField(required=False)
    end = ClockTimeField(required=False)
    windows = serializers.ListField(
        child=WindowSerializer(),
        required=False,
        min_length=1,
        max_length=_MOST_WINDOWS,
        help_text="Instead of start and end; together they leave some minute open.",
    )
    time_zone = TimeZoneField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Where it is null the recipient's own, else the tenant's.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        daily = {"start", "end"}
        if "windows" not in attrs:
            missing = sorted(daily - attrs.keys())
            if missing:
                raise serializers.ValidationError(
                    {name: ["This field is required."] for name in missing}
                )
            return _ends_later(attrs)
        if both := sorted(daily & attrs.keys()):
            raise serializers.ValidationError(
                {name: ["Either start and end, or windows."] for name in both}
            )
        windows = [window_of(each, zone=UTC) for each in attrs["windows"]]
        if not leaves_a_minute(windows):
            raise serializers.ValidationError(
                {"windows": ["They leave no minute of the week for anything."]}
            )
        return attrs


def _ends_later(attrs: dict[str, Any]) -> dict[str, Any]:
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
    categories = serializers.DictField(
        child=serializers.DictField(child=YesOrNoField()),
        required=False,
        default=dict,
        help_text="Whether a category is wanted on a channel. What is not named is as"
        " the tenant has it; what is mandatory cannot be switched off.",
    )
    snooze_until = OffsetDateTimeField(
        required=False,
        allow_null=True,
        default=None,
        help_text="What quiet hours would hold back waits until then, a year at most.",
    )

    def validate_snooze_until(self, moment: datetime | None) -> datetime | None:
        if moment is not None and moment > database_now() + _LONGEST_SNOOZE:
            raise serializers.ValidationError("More than a year ahead.")
        return moment

    def validate_categories(
        self, chosen: dict[str, dict[str, bool]]
    ) -> dict[str, dict[str, bool]]:
        errors: dict[str, Any] = {
            name: fault
            for name, channels in chosen.items()
            if (fault := self._fault(name, channels))
        }
        if errors:
            raise serializers.ValidationError(errors)
        return chosen

    def _fault(self, name: str, channels: dict[str, bool]) -> object:
        try:
            category = find_category(tenant_id=self.context["tenant_id"], name=name)
        except UnknownCategory:
            return ["The tenant has no such category."]
        faults: dict[str, list[str]] = {}
        for channel, is_wanted in channels.items():
            if channel not in CHANNEL_KEYS:
                faults[channel] = [f"No channel: {', '.join(CHANNEL_KEYS)}."]
            elif category.is_mandatory and not is_wanted:
                faults[channel] = ["It is mandatory and cannot be switched off."]
        return faults

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
    categories = serializers.DictField(
        child=serializers.DictField(child=serializers.BooleanField())
    )
    snooze_until = serializers.DateTimeField(allow_null=True)
    updated_at = serializers.DateTimeField(allow_null=True)


class PreferenceLinkSerializer(StrictSerializer):
    """For how long a link is to open somebody's preferences."""

    lifetime_seconds = serializers.IntegerField(
        min_value=60,
        max_value=int(LONGEST_LIFE.total_seconds()),
        default=int(SHORT_LIFE.total_seconds()),
    )

    def lifetime(self) -> timedelta:
        """Return the validated lifetime."""
        return timedelta(seconds=self.validated_data["lifetime_seconds"])


class PreferenceLinkBody(serializers.Serializer[Any]):
    """A link to hand to the person, and until when it opens."""

    url = serializers.CharField()
    expires_at = serializers.DateTimeField()
