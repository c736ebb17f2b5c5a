"""What a consumer needs of a transport: due work, handed to one consumer at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Protocol
from uuid import UUID

from foundation.statements import Cursor
from notifications.outbox import Lane
from notifications.transitions import Fence
from providers.channels import Channel
from tenants.categories import Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The classes of work that one consumer serves, and for how long it claims."""

    channels: tuple[Channel, ...]
    priorities: tuple[Priority, ...]
    lease: timedelta

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return tuple(Lane(*pair) for pair in product(self.priorities, self.channels))


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many deliveries a consumer can take: in all, of those beside HIGH, and of
    each lane; what one lane takes is taken from the others of its channel too."""

    total: int
    beside_high: int
    by_lane: Mapping[Lane, int]


class Transport(Protocol):
    """Brings due deliveries to consumers.

    It carries no truth: whatever it loses becomes due again in the outbox, and
    whatever it repeats loses its claim there.
    """

    # Whether the last fetch left classes out that are not to be asked for so soon.
    is_resting: bool

    def __init__(self, subscription: Subscription) -> None: ...

    def fetch(self, *, limit: int) -> bool:
        """Bring at most `limit` pieces of work within reach, and tell whether any is;
        outside of any transaction, since it may wait for a network."""

    def claim(self, cursor: Cursor, *, room: Room) -> list[Fence]:
        """Win fetched work on its outbox rows, within the caller's transaction."""

    def skip(self, delivery_ids: Collection[UUID]) -> None:
        """Claim no more by what was fetched of these deliveries: their rows have been
        given a later date, and are brought again then."""

    def close(self) -> None: ...
