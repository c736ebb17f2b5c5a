"""What is known of a person when a notification is accepted or claimed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from uuid import UUID

from foundation.quiet_hours import QuietHours, QuietWeek
from preferences.held import Held
from providers.channels import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAddress:
    """An address to send to; `id` is the address's, or the device's for push.

    It is opened only where it is sent to, so that one that cannot be opened is in
    nobody else's way. `held` is what the suppression list says of it.
    """

    id: UUID
    channel: Channel
    reveal: Callable[[], str] = field(repr=False, compare=False)
    key: bytes = field(repr=False)
    platform: str = ""
    held: tuple[Held, ...] = ()

    @property
    def value(self) -> str:
        """Open the address; raise foundation.sealing.SealBroken if it cannot be."""
        return self.reveal()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A person; all empty for one that nobody has told us about.

    `locale` and `time_zone` are None where the tenant's default holds; quiet hours have
    found their zone already. `category_choices` is category, channel, whether it is
    wanted. `read_at` is the database's time of the reading.
    """

    tenant_id: int
    user_id: str
    read_at: datetime = field(compare=False)
    locale: str | None = None
    time_zone: str | None = None
    addresses: Mapping[Channel, tuple[KnownAddress, ...]] = field(default_factory=dict)
    opt_outs: frozenset[str] = frozenset()
    category_choices: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    snoozed_until: datetime | None = None
    # Where the person is, as far as anybody knows.
    zone: tzinfo = field(default=UTC, compare=False)
    quiet_hours: QuietHours | QuietWeek | None = None
    tenant_quiet_hours: QuietWeek | None = None
    preference_version: int = 0
