"""People as a tenant tells us about them, and as the API shows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import structlog

from foundation.sealing import SealBroken
from preferences.held import Reason
from preferences.models import Address, Recipient
from preferences.suppression import find_suppressions
from providers.channels import Channel
from tenants.data_keys import unseal
from tenants.models import Tenant

log = structlog.get_logger(__name__)

MOST_ADDRESSES = 10  # of a channel


class UnknownRecipient(LookupError):
    """There is no such user."""


class Standing(StrEnum):
    """What is known of an address."""

    UNVERIFIED = "unverified"
    VERIFIED = "verified"
    # Nothing arrives there; or nothing may be sent there, whatever it is.
    INVALID = "invalid"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedAddress:
    """An address as it was given, and as it is sent to.

    `is_verified` is None where nobody says so: what was known stays.
    """

    channel: Channel
    typed: str = field(repr=False)
    normalised: str = field(repr=False)
    is_verified: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientDetails:
    """All that a tenant says of a person; what it leaves out is not kept.

    Of a channel's addresses the first is sent to as long as nothing speaks against it.
    """

    locale: str = ""
    time_zone: str = ""
    country: str = ""
    addresses: Sequence[TypedAddress] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAddress:
    """An address with what has become of it."""

    channel: Channel
    typed: str = field(repr=False)
    normalised: str = field(repr=False)
    standing: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecipient:
    """A person as the API shows them."""

    user_id: str
    locale: str | None
    time_zone: str | None
    country: str | None
    addresses: tuple[StoredAddress, ...]
    created_at: datetime
    updated_at: datetime

    @property
    def email(self) -> str | None:
        """Return the address that e-mail goes to first."""
        return self._first(Channel.EMAIL)

    @property
    def phone(self) -> str | None:
        """Return the number that SMS go to first."""
        return self._first(Channel.SMS)

    def _first(self, channel: Channel) -> str | None:
        return next(
            (a.normalised for a in self.addresses if a.channel is channel), None
        )


def read_recipient(*, tenant_id: int, user_id: str) -> StoredRecipient:
    """Return a person with their addresses; raise UnknownRecipient."""
    people = Recipient.objects.filter(tenant_id=tenant_id, user_id=user_id)
    for known in _read(tenant_id, people):
        return known
    raise UnknownRecipient


def list_recipients(
    *, tenant_id: int, after: str, limit: int
) -> Sequence[StoredRecipient]:
    """Return people by their ids, those behind `after`; three queries for a page."""
    people = Recipient.objects.filter(tenant_id=tenant_id, user_id__gt=after)
    return _read(tenant_id, people.order_by("user_id")[:limit])


def phone_region(*, tenant_id: int) -> str | None:
    """Return the country of the tenant's numbers that are written without one."""
    tenant = Tenant.objects.only("default_region").get(pk=tenant_id)
    return tenant.default_region or None


def open_address(tenant_id: int, address: Address) -> tuple[str, str]:
    """Return an address as typed and as sent to; raise SealBroken."""
    typed, normalised = (
        unseal(
            tenant_id=tenant_id,
            table=f"address.{column}",
            row=address.id,
            sealed=bytes(getattr(address, column)),
        ).decode()
        for column in ("typed", "normalised")
    )
    return typed, normalised


def _read(tenant_id: int, people: Iterable[Recipient]) -> Sequence[StoredRecipient]:
    people = list(people)
    addresses = _addresses_of(tenant_id, people)
    return [
        StoredRecipient(
            user_id=person.user_id,
            locale=person.locale or None,
            time_zone=person.time_zone or None,
            country=person.country or None,
            addresses=tuple(addresses.get(person.pk, ())),
            created_at=person.created_at,
            updated_at=person.updated_at,
        )
        for person in people
    ]


def _addresses_of(
    tenant_id: int, people: Sequence[Recipient]
) -> Mapping[int, Sequence[StoredAddress]]:
    rows = list(
        Address.objects.filter(recipient__in=[person.pk for person in people]).order_by(
            "channel", "position", "id"
        )
    )
    held = find_suppressions({(tenant_id, row.channel, bytes(row.key)) for row in rows})
    addresses = defaultdict(list)
    for row in rows:
        try:
            typed, normalised = open_address(tenant_id, row)
        except SealBroken:
            # Nothing can be sent to it; all others are shown.
            log.warning("address_unreadable", address=str(row.id))
            continue
        reasons = {
            known.reason
            for known in held.get((tenant_id, row.channel, bytes(row.key)), ())
            if not known.category
        }
        addresses[row.recipient_id].append(
            StoredAddress(
                channel=Channel(row.channel),
                typed=typed,
                normalised=normalised,
                standing=_standing(row, reasons),
            )
        )
    return addresses


def _standing(address: Address, held: Iterable[Reason]) -> Standing:
    reasons = set(held)
    if Reason.HARD_BOUNCE in reasons:
        return Standing.INVALID
    return Standing.SUPPRESSED if reasons else Standing(address.status)
