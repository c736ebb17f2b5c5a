"""Decide whether a message may go out, at acceptance and again in the claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from foundation.quiet_hours import QuietHours, QuietWeek
from preferences.held import Held
from preferences.profile import KnownAddress, Profile
from preferences.regional_rules import find_rules, regional_country
from providers.channels import Channel
from tenants.categories import Category, KnownCategory, Priority

# The rules that are asked about from outside.
NO_ADDRESS = "address_known"
SUPPRESSION_LIST = "suppression_list"

# So many windows' ends in a row are more than a week has.
_MOST_ENDS = 64


class Verdict(StrEnum):
    """What becomes of one channel of a notification."""

    ALLOW = "allow"
    SUPPRESS = "suppress"
    DEFER = "defer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a decision was made of: the choices by their version, the zone whose clock
    counted, and the moment that it was made for."""

    preference_version: int
    time_zone: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict, why, by which rule, and until when if it is to wait."""

    verdict: Verdict
    reason: str = ""
    rule: str = ""
    until: datetime | None = None
    basis: Basis | None = field(default=None, compare=False)

    def told(self) -> dict[str, object]:
        """Say by which rule and on what basis, for answers and the trail."""
        if self.basis is None:
            return {"rule": self.rule}
        return {
            "rule": self.rule,
            "preference_version": self.basis.preference_version,
            "time_zone": self.basis.time_zone,
            "at": self.basis.at,
        }

    def instead(self, *, reason: str, rule: str) -> Decision:
        """Hold it back for good on the same basis, by what is no rule of RULES."""
        return replace(
            self, verdict=Verdict.SUPPRESS, reason=reason, rule=rule, until=None
        )

    def without_address(self) -> Decision:
        """Hold it back for want of an address, unless it is held back already."""
        if self.verdict is Verdict.SUPPRESS:
            return self
        return self.instead(reason="no_address", rule=NO_ADDRESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One channel of one message to one person, at a moment.

    `held` is what the suppression list says of the address that it would go to,
    `country` where that is, as far as the rules of a region are about such messages.
    """

    profile: Profile
    channel: Channel
    category: KnownCategory
    priority: Priority
    at: datetime
    held: Sequence[Held] = ()
    country: str = ""


Rule = Callable[[Case], Decision | None]

_ALLOWED = Decision(verdict=Verdict.ALLOW)
_OFF_FOR_THE_CHANNEL = Decision(
    verdict=Verdict.SUPPRESS, reason="opted_out", rule="channel_opt_out"
)
_OFF_BY_CHOICE = Decision(
    verdict=Verdict.SUPPRESS, reason="opted_out", rule="category_choice"
)
_OFF_BY_DEFAULT = Decision(
    verdict=Verdict.SUPPRESS, reason="not_opted_in", rule="category_default"
)


def decide(case: Case) -> Decision:
    """Decide for one channel; whether there is an address is the caller's business."""
    return find_objection(case) or _with_basis(_ALLOWED, case)


def find_objection(case: Case) -> Decision | None:
    """Return what the first of RULES that has something against the message decides.

    For the claim, which asks thrice a delivery and has no use for the basis of a yes.
    """
    for rule in RULES.values():
        decision = rule(case)
        if decision is not None:
            return _with_basis(decision, case)
    return None


def decide_addresses(case: Case) -> list[tuple[KnownAddress | None, Decision]]:
    """Decide for the person's addresses of the channel: for push for every device, else
    for the first that the suppression list lets pass. None is the inbox, or nowhere."""
    if case.channel is Channel.IN_APP:
        return [(None, decide(case))]
    known = case.profile.addresses.get(case.channel, ())
    if not known:
        return [(None, decide(case).without_address())]
    decided: list[tuple[KnownAddress | None, Decision]] = [
        (address, decide(at_address(case, address))) for address in known
    ]
    if case.channel is Channel.PUSH:
        return decided
    passing = (each for each in decided if each[1].rule != SUPPRESSION_LIST)
    return [next(passing, decided[0])]


def at_address(case: Case, address: KnownAddress) -> Case:
    """Return the case of sending to one of the person's addresses."""
    country = regional_country(case.channel, case.category, address.reveal)
    if not address.held and not country:
        return case
    return replace(case, held=address.held, country=country)


def consider(case: Case) -> Iterator[tuple[str, Decision | None]]:
    """Yield what each rule says in turn, up to the one that decides."""
    for name, rule in RULES.items():
        decision = rule(case)
        yield name, decision
        if decision is not None:
            return


def may_disturb(channel: Channel, category: KnownCategory, priority: Priority) -> bool:
    """Tell whether quiet hours leave it alone: what is mandatory, codes among it, and
    alerts, which come as HIGH; no advertisement, however urgent. The inbox makes no
    noise."""
    if channel is Channel.IN_APP or category.is_mandatory:
        return True
    return priority is Priority.HIGH and category.base is not Category.MARKETING


def _channel_opt_out(case: Case) -> Decision | None:
    """A legal opt-out: no category passes it, OTP included."""
    off = case.channel.key in case.profile.opt_outs
    return _OFF_FOR_THE_CHANNEL if off else None


def _suppression_list(case: Case) -> Decision | None:
    for held in case.held:
        if held.stops(case.category):
            return Decision(
                verdict=Verdict.SUPPRESS,
                reason=held.reason.value,
                rule=SUPPRESSION_LIST,
            )
    return None


def _category_choice(case: Case) -> Decision | None:
    if case.category.is_mandatory:
        return None
    return _OFF_BY_CHOICE if _choice(case) is False else None


def _category_default(case: Case) -> Decision | None:
    off = case.category.off_by_default
    if not off or case.category.is_mandatory or _choice(case) is not None:
        return None
    return _OFF_BY_DEFAULT if case.channel.key in off else None


def _snooze(case: Case) -> Decision | None:
    until = case.profile.snoozed_until
    if until is None or until <= case.at or _may_disturb(case):
        return None
    return _wait(case, until, reason="snoozed", rule="snooze")


def _quiet_hours(case: Case) -> Decision | None:
    return _wait_within(case, case.profile.quiet_hours, rule="quiet_hours")


def _tenant_quiet_hours(case: Case) -> Decision | None:
    quiet = case.profile.tenant_quiet_hours
    return _wait_within(case, quiet, rule="tenant_quiet_hours")


def _regional_hours(case: Case) -> Decision | None:
    return _wait_within(case, _regional_week(case), rule="regional_hours")


def _wait_within(
    case: Case, quiet: QuietHours | QuietWeek | None, *, rule: str
) -> Decision | None:
    if quiet is None or _may_disturb(case):
        return None
    until = quiet.until(case.at)
    return None if until is None else _wait(case, until, reason=rule, rule=rule)


def _wait(case: Case, until: datetime, *, reason: str, rule: str) -> Decision:
    """Wait for the first moment at which none of all the quiet hours has anything
    against it: where one ends another may have begun."""
    weeks = (
        case.profile.quiet_hours,
        case.profile.tenant_quiet_hours,
        _regional_week(case),
    )
    quiet = [week for week in weeks if week is not None]
    # Together they may leave no minute open; what waits for ever expires.
    for _ in range(_MOST_ENDS):
        ends = [end for week in quiet if (end := week.until(until)) is not None]
        if not ends:
            break
        until = max(ends)
    return Decision(verdict=Verdict.DEFER, reason=reason, rule=rule, until=until)


def _regional_week(case: Case) -> QuietWeek | None:
    if not case.country:
        return None
    rules = find_rules(
        country=case.country, channel=case.channel, category=case.category
    )
    return rules.quiet_week(case.profile.zone)


# In this order: the law, the person, the tenant, and then the hour.
RULES: Mapping[str, Rule] = {
    "channel_opt_out": _channel_opt_out,
    SUPPRESSION_LIST: _suppression_list,
    "category_choice": _category_choice,
    "category_default": _category_default,
    "snooze": _snooze,
    "quiet_hours": _quiet_hours,
    "tenant_quiet_hours": _tenant_quiet_hours,
    "regional_hours": _regional_hours,
}


def _choice(case: Case) -> bool | None:
    chosen = case.profile.category_choices.get(case.category.name)
    return None if chosen is None else chosen.get(case.channel.key)


def _may_disturb(case: Case) -> bool:
    return may_disturb(case.channel, case.category, case.priority)


def _with_basis(decision: Decision, case: Case) -> Decision:
    # Without dataclasses.replace, which takes as long as all the rules.
    return Decision(
        verdict=decision.verdict,
        reason=decision.reason,
        rule=decision.rule,
        until=decision.until,
        basis=Basis(
            preference_version=case.profile.preference_version,
            time_zone=_zone_of(decision.rule, case),
            at=case.at,
        ),
    )


def _zone_of(rule: str, case: Case) -> str:
    """Return whose clock counts; "" where the tenant's would and nothing asked."""
    profile = case.profile
    if rule == "tenant_quiet_hours":
        return str(profile.zone)
    week = _regional_week(case) if rule == "regional_hours" else profile.quiet_hours
    return str(week.zone) if week is not None else profile.time_zone or ""
