"""What a notification is for, and how urgent that makes it."""

from __future__ import annotations

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
    """The purpose of a template; it decides priority, retry window and expiry."""

    OTP = "otp"
    TRANSACTIONAL = "transactional"
    MARKETING = "marketing"


PRIORITY_CHOICES = [(priority.value, priority.key) for priority in Priority]
CATEGORY_CHOICES = [(category.value, category.value) for category in Category]

_DEFAULT_PRIORITY = {
    Category.OTP: Priority.HIGH,
    Category.TRANSACTIONAL: Priority.NORMAL,
    Category.MARKETING: Priority.LOW,
}


def default_priority(category: Category) -> Priority:
    """Return the lane a notification takes when the caller names none."""
    return _DEFAULT_PRIORITY[category]
