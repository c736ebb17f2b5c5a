"""Say what would become of a message to a person, and which rules say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from preferences.policy import (
    NO_ADDRESS,
    Case,
    Decision,
    Verdict,
    at_address,
    consider,
    decide_addresses,
)
from preferences.profiles import load_profiles
from providers.channels import Channel
from tenants.categories import KnownCategory, Priority, default_priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """What one rule said; None where it had nothing against the message."""

    rule: str
    verdict: Verdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedChannel:
    """The decision for one channel, and the rules in turn up to the deciding one."""

    channel: Channel
    decision: Decision
    considered: Sequence[Considered]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What would happen on each channel if it were sent at that moment."""

    category: KnownCategory
    priority: Priority
    at: datetime
    channels: Sequence[ExplainedChannel]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: a category, on which channels, how urgent and when (None: now)."""

    category: KnownCategory
    channels: Sequence[Channel] = tuple(Channel)
    priority: Priority | None = None
    at: datetime | None = None


def explain(*, tenant_id: int, user_id: str, question: Question) -> Explanation:
    """Decide as an acceptance would, and tell how.

    Somebody who is not known has no addresses and no preferences. What is judged of a
    message itself (its number, the tenant's quotas) is no part of it.
    """
    category = question.category
    profile = load_profiles([(tenant_id, user_id)], channels=question.channels)[
        tenant_id, user_id
    ]
    priority = question.priority
    if priority is None:
        priority = default_priority(category.base)
    at = max(question.at or profile.read_at, profile.read_at)
    return Explanation(
        category=category,
        priority=priority,
        at=at,
        channels=[
            _explained(
                Case(
                    profile=profile,
                    channel=channel,
                    category=category,
                    priority=priority,
                    at=at,
                )
            )
            for channel in question.channels
        ],
    )


def _explained(case: Case) -> ExplainedChannel:
    """Tell of the address that it would go to; of push devices, of the first."""
    address, decision = decide_addresses(case)[0]
    if address is not None:
        case = at_address(case, address)
    considered = [
        Considered(rule=rule, verdict=None if said is None else said.verdict)
        for rule, said in consider(case)
    ]
    if decision.rule == NO_ADDRESS:
        considered.append(Considered(rule=decision.rule, verdict=decision.verdict))
    return ExplainedChannel(
        channel=case.channel, decision=decision, considered=considered
    )
