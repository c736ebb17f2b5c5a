"""Whether a text message may go to its number: the country, the caps, the cost."""

from __future__ import annotations

import math
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, lru_cache

from django.conf import settings

from foundation.field_problems import FieldProblem
from foundation.sealing import SealBroken
from notifications.acceptance.caps import counts
from notifications.acceptance.submission import (
    Caller,
    InvalidSubmission,
    Submission,
)
from notifications.acceptance.targets import Target
from preferences.contact import UnusableAddress
from preferences.destinations import Destination, find_destination
from preferences.policy import Decision, Verdict
from preferences.profile import Profile
from preferences.regional_rules import RegionalRules, find_rules
from providers.channels import Channel
from providers.sms_text import measure
from templates.catalog import PinnedVersion
from templates.transliteration import transliterate
from tenants.categories import Category, KnownCategory
from tenants.data_keys import blind_index
from tenants.limits import limits_of
from tenants.metrics import NUMBER_LIMITED
from tenants.number_counts.counts import Counted, Rule
from tenants.pumping_alarms import Gathering
from tenants.sms_prices import segment_price

TEN_MINUTES, A_DAY = timedelta(minutes=10), timedelta(days=1)
_PREFIX_RULE = "prefix"


class NumberLimited(Exception):
    """The number, or numbers that begin like it, have had too many text messages."""

    def __init__(self, *, rule: str, wait_seconds: float) -> None:
        super().__init__(
            "Numbers that begin like this one have had too many one-time passwords."
            if rule == _PREFIX_RULE
            else "This number has had too many text messages."
        )
        self.rule = rule
        self.retry_after = max(math.ceil(wait_seconds), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The targets with what the rules say; `counted` is to be taken back, and the
    cost (in millionths) not to be spent, where nothing is accepted."""

    targets: Sequence[Target]
    counted: Sequence[Counted] = ()
    cost: int = 0


def judge_texts(
    *,
    caller: Caller,
    submission: Submission,
    version: PinnedVersion,
    category: KnownCategory,
    profile: Profile,
    targets: Sequence[Target],
) -> Judged:
    """Count the text message, if there is one, under the rules on its number.

    Raises InvalidSubmission where the call's own number may not be sent to, and
    NumberLimited; what the profile's number or an advertisement meets is suppressed.
    Test keys' messages go nowhere, and pass.
    """
    found = _text_in(submission, targets)
    if found is None or caller.is_test:
        return Judged(targets=targets)
    try:
        destination = _destination_of(caller.tenant_id, found, profile)
    except UnusableAddress as unusable:
        if found.given is not None:
            raise InvalidSubmission(
                FieldProblem("/recipient/phone", unusable.detail)
            ) from unusable
        held = found.decision.instead(reason=unusable.reason, rule="sms_destination")
        return Judged(targets=_replaced(targets, found, held))
    if destination is None:
        return Judged(targets=targets)
    regional = find_rules(
        country=destination.country, channel=Channel.SMS, category=category
    )
    counted = _count(caller.tenant_id, found, destination, category.base, regional)
    if counted is not None and (by := counted.refused_by) is not None:
        if category.base is not Category.MARKETING:
            raise NumberLimited(rule=by.name, wait_seconds=counted.wait_seconds)
        held = found.decision.instead(reason="number_limited", rule=by.name)
        return Judged(targets=_replaced(targets, found, held))
    cost = _cost(version, destination.country, regional)
    kept = () if counted is None else (counted,)
    return Judged(targets=targets, counted=kept, cost=cost)


def _text_in(submission: Submission, targets: Sequence[Target]) -> Target | None:
    """Return the text message that would go out; there is one at most."""
    if Channel.SMS not in submission.channels:
        return None
    for target in targets:
        is_held = target.decision.verdict is Verdict.SUPPRESS
        if target.channel is Channel.SMS and not is_held:
            return target
    return None


def _replaced(
    targets: Sequence[Target], found: Target, decision: Decision
) -> list[Target]:
    return [
        replace(each, decision=decision) if each is found else each for each in targets
    ]


def _destination_of(
    tenant_id: int, target: Target, profile: Profile
) -> Destination | None:
    """Return where the message would go; None for a number that cannot be opened: the
    claim finds that too, and parks it."""
    number = target.given
    if number is None:
        known = profile.addresses[Channel.SMS]
        try:
            number = next(each for each in known if each.id == target.address_id).value
        except SealBroken:
            return None
    return find_destination(
        number,
        countries=limits_of(tenant_id=tenant_id).sms_countries,
    )


def _count(
    tenant_id: int,
    target: Target,
    destination: Destination,
    category: Category,
    regional: RegionalRules,
) -> Counted | None:
    rules = _rules(tenant_id, target.key, destination, category, regional)
    if not rules:
        return None
    counted = counts().count(rules)
    if counted.refused_by is not None:
        NUMBER_LIMITED.labels(counted.refused_by.name).inc()
    if rules[-1].name == _PREFIX_RULE:
        _watch(tenant_id, destination, counted)
    return counted


def _rules(
    tenant_id: int,
    number_key: bytes,
    destination: Destination,
    category: Category,
    regional: RegionalRules,
) -> list[Rule]:
    """Return what applies; the rule on the prefix comes last.

    Advertisements have a rule of their own and no other: a campaign's numbers are
    many, and each rule remembers each of them for a day.
    """
    limits = [("number_in_a_day", A_DAY, settings.SMS_A_DAY)]
    if category is Category.OTP:
        limits += [
            ("otps_in_ten_minutes", TEN_MINUTES, settings.SMS_OTPS_IN_TEN_MINUTES),
            ("otps_in_a_day", A_DAY, settings.SMS_OTPS_A_DAY),
        ]
    elif category is Category.MARKETING and (most := _most_advertisements(regional)):
        limits = [("marketing_in_a_day", A_DAY, most)]
    rules = [
        Rule(
            name=name,
            key=_key(tenant_id, name, number_key),
            window=window,
            limit=limit,
        )
        for name, window, limit in limits
        if limit
    ]
    if category is Category.OTP and (most := _most_of_a_prefix()):
        prefix_key = blind_index(
            tenant_id=tenant_id, purpose="sms_prefix", value=destination.prefix
        )
        rules.append(
            Rule(
                name=_PREFIX_RULE,
                key=_key(tenant_id, _PREFIX_RULE, prefix_key),
                window=TEN_MINUTES,
                limit=most,
                refuses=settings.SMS_PREFIX_LIMIT > 0,
            )
        )
    return rules


def _most_advertisements(regional: RegionalRules) -> int:
    """Return the lower of the platform's limit and the law's; 0 is none."""
    limits = (settings.SMS_MARKETING_A_DAY, regional.a_day)
    return min((each for each in limits if each), default=0)


def _most_of_a_prefix() -> int:
    limit: int = settings.SMS_PREFIX_LIMIT or settings.SMS_PREFIX_ALARM
    return limit


def _key(tenant_id: int, rule: str, index: bytes) -> str:
    # The braces keep the rules of one call together on a cluster.
    short = urlsafe_b64encode(index).decode().rstrip("=")
    return f"number:{{{tenant_id}}}:{rule}:{short}"


def _watch(tenant_id: int, destination: Destination, counted: Counted) -> None:
    """Tell staff of a prefix that gets too many, whether they are refused or not."""
    is_refused = counted.refused_by is not None
    is_by_prefix = is_refused and counted.refused_by is counted.rules[-1]
    alarm = settings.SMS_PREFIX_ALARM
    if is_by_prefix or (alarm and counted.last >= alarm):
        _gathering().add(
            tenant_id=tenant_id,
            country=destination.country,
            prefix=destination.prefix,
            is_refused=is_refused,
        )


def _cost(version: PinnedVersion, country: str, regional: RegionalRules) -> int:
    """Estimate by the longest of the template's texts, before anything is filled in."""
    by_locale = version.contents[Channel.SMS].values()
    segments = _most_segments(
        tuple(parts.get("text", "") for parts in by_locale),
        labels=regional.labels,
        transliterates=limits_of(tenant_id=version.tenant_id).transliterates_sms,
    )
    return segment_price(country) * segments


@lru_cache(maxsize=1_000)
def _most_segments(
    texts: Sequence[str], *, labels: tuple[str, ...], transliterates: bool
) -> int:
    """Count once what every acceptance of a template asks."""
    if transliterates:
        texts = [transliterate(text).text for text in texts]
    labelled = map(RegionalRules(labels=labels).labelled, texts)
    return max(measure(text).segments for text in labelled)


@cache
def _gathering() -> Gathering:
    return Gathering()
