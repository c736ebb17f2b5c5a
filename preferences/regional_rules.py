"""What the law of a number's country asks of messages that advertise."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from foundation.quiet_hours import QuietWeek
from foundation.quiet_windows import read_lines, week_of
from foundation.sealing import SealBroken
from preferences.destinations import country_of
from providers.channels import Channel
from tenants.categories import KnownCategory, LegalClass

_FILE = Path(__file__).with_name("regional_rules.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionalRules:
    """Of one country; as they are made they ask for nothing."""

    time_zone: str = ""
    quiet_hours: str = ""
    a_day: int | None = None
    labels: tuple[str, ...] = ()
    sender: str = ""
    # Where each of the others comes from.
    sources: Mapping[str, str] = field(default_factory=dict)

    def quiet_week(self, zone: tzinfo) -> QuietWeek | None:
        """Return when nothing may arrive; `zone` is where the person is."""
        return week_of(self.quiet_hours, _zone(self.time_zone) or zone)

    def labelled(self, text: str) -> str:
        """Return the text beginning with a label, if there has to be one."""
        if not self.labels or text.startswith(self.labels):
            return text
        return f"{self.labels[0]} {text}"


NEUTRAL = RegionalRules()


def are_regional(channel: Channel, category: KnownCategory) -> bool:
    """Tell whether the rules of a region are about such messages."""
    return channel is Channel.SMS and category.legal_class is LegalClass.MARKETING


def regional_country(
    channel: Channel, category: KnownCategory, reveal: Callable[[], str | None]
) -> str:
    """Return where a number is that such a message would go to; "" where no rules are
    about it, and for one that cannot be opened: nothing can be sent there either."""
    if not are_regional(channel, category):
        return ""
    try:
        return country_of(reveal() or "")
    except SealBroken:
        return ""


def find_rules(
    *, country: str, channel: Channel, category: KnownCategory
) -> RegionalRules:
    """Return what holds for such a message to a number of a country."""
    if not are_regional(channel, category):
        return NEUTRAL
    return RULES.get(country, NEUTRAL)


def read_rules(text: str) -> dict[str, RegionalRules]:
    """Read the rules of all countries; raise ValueError or TypeError for what is none
    and for what does not name its source."""
    return {
        country: _rules_in(country, entry["marketing_sms"])
        for country, entry in tomllib.loads(text).items()
    }


def _rules_in(country: str, entry: Mapping[str, Any]) -> RegionalRules:
    rules = RegionalRules(**{**entry, "labels": tuple(entry.get("labels", ()))})
    said = {each.name for each in fields(rules)} & entry.keys() - {"sources"}
    if said != rules.sources.keys():
        raise ValueError(f"{country}: each rule has a source, and nothing else has.")
    read_lines(rules.quiet_hours)
    _zone(rules.time_zone)
    return rules


def _zone(name: str) -> ZoneInfo | None:
    return ZoneInfo(name) if name else None


RULES: Mapping[str, RegionalRules] = read_rules(_FILE.read_text("utf-8"))
