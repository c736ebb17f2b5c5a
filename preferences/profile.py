"""What is known of a person when a notification is accepted or claimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from providers.channels import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAddress:
    """An address to send to; `id` is the address's, or the device's for push."""

    id: UUID
    channel: Channel
    value: str = field(repr=False)
    key: bytes = field(repr=False)
    platform: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A person; all empty for one that nobody has told us about.

    `locale` and `time_zone` are None where the tenant's default holds.
    """

    tenant_id: int
    user_id: str
    locale: str | None = None
    time_zone: str | None = None
    addresses: Mapping[Channel, tuple[KnownAddress, ...]] = field(default_factory=dict)
    opt_outs: frozenset[str] = frozenset()
    preference_version: int = 0
