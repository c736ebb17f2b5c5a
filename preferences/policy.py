"""Decide whether a message may go out, at acceptance and again in the claim."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from preferences.profile import Profile
from providers.channels import Channel
from tenants.categories import Category, Priority


class Verdict(StrEnum):
    """What becomes of one channel of a notification."""

    ALLOW = "allow"
    SUPPRESS = "suppress"
    DEFER = "defer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict, why, by which rule, and until when if it is to wait."""

    verdict: Verdict
    reason: str = ""
    rule: str = ""
    until: datetime | None = None


_ALLOWED = Decision(verdict=Verdict.ALLOW)
_OPTED_OUT = Decision(
    verdict=Verdict.SUPPRESS, reason="opted_out", rule="channel_opt_out"
)


def decide(
    *,
    profile: Profile,
    channel: Channel,
    category: Category | str,
    priority: Priority,
    at: datetime,
) -> Decision:
    """Decide for one channel; whether there is an address is the caller's business.

    Opting out of a channel is a legal opt-out: no category passes it, OTP included.
    """
    if channel.key in profile.opt_outs:
        return _OPTED_OUT
    if profile.quiet_hours is None or may_disturb(channel, category, priority):
        return _ALLOWED
    until = profile.quiet_hours.until(at)
    if until is None:
        return _ALLOWED
    return Decision(
        verdict=Verdict.DEFER, reason="quiet_hours", rule="quiet_hours", until=until
    )


def may_disturb(channel: Channel, category: Category | str, priority: Priority) -> bool:
    """Tell whether quiet hours leave it alone: codes, and alerts, which come as HIGH;
    no advertisement, however urgent. The inbox makes no noise."""
    if channel is Channel.IN_APP or category == Category.OTP:
        return True
    return priority is Priority.HIGH and category != Category.MARKETING
