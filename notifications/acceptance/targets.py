"""Choose where a notification goes: which addresses, and what policy says of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from foundation.field_problems import FieldProblem
from notifications.acceptance.submission import (
    Caller,
    InvalidSubmission,
    Submission,
)
from preferences.address_keys import address_key
from preferences.contact import UnusableAddress, normalise_email, normalise_phone
from preferences.held import Held
from preferences.policy import Case, Decision, decide, decide_addresses
from preferences.profile import Profile
from preferences.regional_rules import regional_country
from preferences.suppression import find_suppressions
from providers.channels import Channel
from tenants.categories import KnownCategory
from tenants.models import Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One delivery to be: the profile's address, the call's own, or none and why."""

    channel: Channel
    decision: Decision
    key: bytes = b""
    address_id: UUID | None = None
    given: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """An address that the call itself names."""

    value: str
    key: bytes
    held: Sequence[Held] = ()


def choose_targets(
    *, caller: Caller, submission: Submission, profile: Profile, category: KnownCategory
) -> list[Target]:
    """Take the call's own addresses, else the profile's: the first one that may be sent
    to, for push every device."""
    given = _given_addresses(caller, submission)
    targets: list[Target] = []
    for channel in submission.channels:
        case = Case(
            profile=profile,
            channel=channel,
            category=category,
            priority=submission.priority_for(category.base),
            at=max(submission.send_at or profile.read_at, profile.read_at),
        )
        if (address := given.get(channel)) is not None:
            targets.append(
                Target(
                    channel=channel,
                    decision=decide(_at_given(case, address)),
                    key=address.key,
                    given=address.value,
                )
            )
        else:
            targets += _profile_targets(case)
    return targets


def _at_given(case: Case, address: _Given) -> Case:
    country = regional_country(case.channel, case.category, lambda: address.value)
    return replace(case, held=address.held, country=country)


def _profile_targets(case: Case) -> list[Target]:
    return [
        Target(channel=case.channel, decision=decision)
        if address is None
        else Target(
            channel=case.channel,
            decision=decision,
            key=address.key,
            address_id=address.id,
        )
        for address, decision in decide_addresses(case)
    ]


def _given_addresses(caller: Caller, submission: Submission) -> dict[Channel, _Given]:
    values: dict[Channel, str] = {}
    pointer = "/recipient/email"
    try:
        if submission.email is not None:
            values[Channel.EMAIL] = normalise_email(submission.email)
        pointer = "/recipient/phone"
        if submission.phone is not None:
            values[Channel.SMS] = normalise_phone(
                submission.phone, region=_region(caller.tenant_id)
            )
    except UnusableAddress as unusable:
        raise InvalidSubmission(FieldProblem(pointer, unusable.detail)) from unusable
    tenant_id = caller.tenant_id
    keys = {
        channel: address_key(tenant_id=tenant_id, channel=channel, value=value)
        for channel, value in values.items()
    }
    held = find_suppressions(
        [(tenant_id, channel.value, key) for channel, key in keys.items()]
    )
    return {
        channel: _Given(
            value=values[channel],
            key=key,
            held=held.get((tenant_id, channel.value, key), ()),
        )
        for channel, key in keys.items()
    }


def _region(tenant_id: int) -> str:
    return Tenant.objects.values_list("default_region", flat=True).get(pk=tenant_id)
