"""What a notification is for, and how urgent that makes it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum, StrEnum


class Priority(IntEnum):
    """A class of traffic with lanes of its own; the number is what the tables hold."""

    HIGH = 0
    NORMAL = 1
    LOW = 2

    @property
    def key(self) -> str:
        """Return the name that the API, settings and metric labels use."""
        return self.name.lower()


class Category(StrEnum):
    """The built-in categories: they decide priority, retry window and expiry.

    Each of a tenant's own has one of them for its base.
    """

    OTP = "otp"
    TRANSACTIONAL = "transactional"
    MARKETING = "marketing"


class LegalClass(StrEnum):
    """Whether a person may do without the messages of a category."""

    MANDATORY = "mandatory"  # passes what the person prefers, never a legal opt-out
    TRANSACTIONAL = "transactional"
    MARKETING = "marketing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """How many messages a person gets in a span of time."""

    most: int
    within: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCategory:
    """A category of a tenant, built-in or its own, as policy sees it."""

    name: str
    base: Category
    legal_class: LegalClass
    # Keys of the channels that are off for whoever has not chosen.
    off_by_default: frozenset[str] = frozenset()
    cap: Cap | None = None

    @property
    def is_mandatory(self) -> bool:
        """Tell whether it goes out whatever the person prefers."""
        return self.legal_class is LegalClass.MANDATORY


PRIORITY_CHOICES = [(priority.value, priority.key) for priority in Priority]
CATEGORY_CHOICES = [(category.value, category.value) for category in Category]
LEGAL_CLASS_CHOICES = [(each.value, each.value) for each in LegalClass]

_DEFAULT_PRIORITY = {
    Category.OTP: Priority.HIGH,
    Category.TRANSACTIONAL: Priority.NORMAL,
    Category.MARKETING: Priority.LOW,
}


def default_priority(category: Category) -> Priority:
    """Return the lane a notification takes when the caller names none."""
    return _DEFAULT_PRIORITY[category]
