"""Keep what a tenant tells us about a person and how to reach them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from foundation.database_clock import AppNow
from preferences.address_keys import address_key
from preferences.models import Address, Recipient
from providers.channels import Channel
from tenants.data_keys import seal, unseal
from tenants.models import Tenant

ADDRESS_CHANNELS = (Channel.EMAIL, Channel.SMS)


class UnknownRecipient(LookupError):
    """There is no such user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedAddress:
    """An address as it was given, and as it is sent to."""

    typed: str = field(repr=False)
    normalised: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientDetails:
    """All that a tenant says of a person; what it leaves out is not kept."""

    locale: str = ""
    time_zone: str = ""
    addresses: Mapping[Channel, TypedAddress] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAddress:
    """An address with what has become of it."""

    channel: Channel
    typed: str = field(repr=False)
    normalised: str = field(repr=False)
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecipient:
    """A person as the API shows them."""

    user_id: str
    locale: str | None
    time_zone: str | None
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


def save_recipient(
    *, tenant_id: int, user_id: str, details: RecipientDetails
) -> tuple[StoredRecipient, bool]:
    """Create or replace; return what is stored now and whether it is new.

    An address that stays keeps its id and status. A new one gets a new id, so that
    what was on its way to the old address does not follow.
    """
    with transaction.atomic():
        # The row stays locked: two changes of one person come one after the other.
        recipient, created = Recipient.objects.update_or_create(
            tenant_id=tenant_id,
            user_id=user_id,
            defaults={
                "locale": details.locale,
                "time_zone": details.time_zone,
                "updated_at": AppNow(),
            },
        )
        for channel in ADDRESS_CHANNELS:
            _replace_address(recipient, channel, details.addresses.get(channel))
        return read_recipient(tenant_id=tenant_id, user_id=user_id), created


def read_recipient(*, tenant_id: int, user_id: str) -> StoredRecipient:
    """Return a person with their addresses; raise UnknownRecipient."""
    recipient = Recipient.objects.filter(tenant_id=tenant_id, user_id=user_id).first()
    if recipient is None:
        raise UnknownRecipient
    addresses = recipient.addresses.order_by("channel", "position", "id")
    return StoredRecipient(
        user_id=recipient.user_id,
        locale=recipient.locale or None,
        time_zone=recipient.time_zone or None,
        addresses=tuple(_open(tenant_id, address) for address in addresses),
        created_at=recipient.created_at,
        updated_at=recipient.updated_at,
    )


def phone_region(*, tenant_id: int) -> str | None:
    """Return the country of the tenant's numbers that are written without one."""
    tenant = Tenant.objects.only("default_region").get(pk=tenant_id)
    return tenant.default_region or None


def _replace_address(
    recipient: Recipient, channel: Channel, wanted: TypedAddress | None
) -> None:
    stored = recipient.addresses.filter(channel=channel)
    if wanted is None:
        stored.delete()
        return
    tenant_id = recipient.tenant_id
    key = address_key(tenant_id=tenant_id, channel=channel, value=wanted.normalised)
    stored.exclude(key=key).delete()
    address = stored.first() or Address(recipient=recipient, channel=channel, key=key)
    address.typed = seal(
        tenant_id=tenant_id,
        table="address.typed",
        row=address.id,
        plaintext=wanted.typed.encode(),
    )
    address.normalised = seal(
        tenant_id=tenant_id,
        table="address.normalised",
        row=address.id,
        plaintext=wanted.normalised.encode(),
    )
    address.save()


def _open(tenant_id: int, address: Address) -> StoredAddress:
    typed = unseal(
        tenant_id=tenant_id,
        table="address.typed",
        row=address.id,
        sealed=bytes(address.typed),
    )
    normalised = unseal(
        tenant_id=tenant_id,
        table="address.normalised",
        row=address.id,
        sealed=bytes(address.normalised),
    )
    return StoredAddress(
        channel=Channel(address.channel),
        typed=typed.decode(),
        normalised=normalised.decode(),
        status=address.status,
    )
