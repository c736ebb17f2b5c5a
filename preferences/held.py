"""What the suppression list says of an address: a pure value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tenants.categories import KnownCategory


class Reason(StrEnum):
    """Why an address is on the list."""

    HARD_BOUNCE = "hard_bounce"
    COMPLAINT = "complaint"
    STOP = "stop"
    LEGAL_REQUEST = "legal_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An entry: why, and of which category ("" is all of them)."""

    reason: Reason
    category: str = ""

    def stops(self, category: KnownCategory) -> bool:
        """Tell whether it stops a message: a complaint leaves what is mandatory alone;
        a dead mailbox, a STOP and a legal request let nothing pass."""
        if self.category not in {"", category.name}:
            return False
        return self.reason is not Reason.COMPLAINT or not category.is_mandatory
