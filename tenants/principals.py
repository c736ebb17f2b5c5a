"""Who is calling: what authentication leaves in `request.user`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePrincipal:
    """A tenant's service, known by its API key."""

    tenant_id: int
    key_id: UUID
    service: str
    scopes: frozenset[str]
    is_test: bool

    is_authenticated: ClassVar[bool] = True

    @property
    def actor(self) -> str:
        """Return the name that the audit trail knows it by."""
        return f"service:{self.service}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPrincipal:
    """An end user, known by a signed token; the scopes hold for this user alone."""

    tenant_id: int
    user_id: str
    scopes: frozenset[str] = frozenset()

    is_authenticated: ClassVar[bool] = True

    @property
    def actor(self) -> str:
        """Return the name that the audit trail knows it by."""
        return f"user:{self.user_id}"


Principal = ServicePrincipal | UserPrincipal
