"""Choose where a notification goes: which addresses, and what policy says of each."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from notifications.acceptance.submission import (
    Caller,
    FieldError,
    InvalidSubmission,
    Submission,
)
from preferences.address_keys import address_key
from preferences.contact import UnusableAddress, normalise_email, normalise_phone
from preferences.policy import Case, Decision, decide
from preferences.profile import Profile
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


def choose_targets(
    *, caller: Caller, submission: Submission, profile: Profile, category: KnownCategory
) -> list[Target]:
    """Take the call's own addresses, else the profile's; for push every device."""
    given = _given_addresses(caller, submission)
    targets: list[Target] = []
    for channel in submission.channels:
        decision = decide(
            Case(
                profile=profile,
                channel=channel,
                category=category,
                priority=submission.priority_for(category.base),
                at=max(submission.send_at or profile.read_at, profile.read_at),
            )
        )
        if channel in given:
            targets.append(
                Target(
                    channel=channel,
                    decision=decision,
                    key=address_key(
                        tenant_id=caller.tenant_id,
                        channel=channel,
                        value=given[channel],
                    ),
                    given=given[channel],
                )
            )
        elif channel is Channel.IN_APP:
            targets.append(Target(channel=channel, decision=decision))
        else:
            targets += _profile_targets(channel, profile, decision)
    return targets


def _profile_targets(
    channel: Channel, profile: Profile, decision: Decision
) -> list[Target]:
    known = profile.addresses.get(channel, ())
    if not known:
        return [Target(channel=channel, decision=decision.without_address())]
    used = known if channel is Channel.PUSH else known[:1]
    return [
        Target(
            channel=channel, decision=decision, key=address.key, address_id=address.id
        )
        for address in used
    ]


def _given_addresses(caller: Caller, submission: Submission) -> dict[Channel, str]:
    given: dict[Channel, str] = {}
    pointer = "/recipient/email"
    try:
        if submission.email is not None:
            given[Channel.EMAIL] = normalise_email(submission.email)
        pointer = "/recipient/phone"
        if submission.phone is not None:
            given[Channel.SMS] = normalise_phone(
                submission.phone, region=_region(caller.tenant_id)
            )
    except UnusableAddress as unusable:
        raise InvalidSubmission(FieldError(pointer, unusable.detail)) from unusable
    return given


def _region(tenant_id: int) -> str:
    return Tenant.objects.values_list("default_region", flat=True).get(pk=tenant_id)
