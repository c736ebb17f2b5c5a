"""What a caller asks for, and what can be wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from foundation.database_clock import database_now
from foundation.field_problems import FieldProblem, FieldsRefused
from providers.channels import Channel
from tenants.categories import Category, Priority, default_priority

EARLIEST = timedelta(minutes=-5)
LATEST = timedelta(days=400)


class InvalidSubmission(FieldsRefused):
    """The notification cannot be accepted as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who submits; the tenant comes from the credential and from nowhere else."""

    tenant_id: int
    actor: str
    is_test: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A notification as the caller asked for it."""

    idempotency_key: str
    fingerprint: bytes
    user_id: str
    template_name: str
    channels: tuple[Channel, ...]
    template_version: int | None = None
    variables: Mapping[str, object] = field(default_factory=dict)
    metadata: Mapping[str, object] = field(default_factory=dict)
    email: str | None = None
    phone: str | None = None
    locale: str = ""
    priority: Priority | None = None
    reference: str = ""
    send_at: datetime | None = None
    expires_at: datetime | None = None
    dedupe_window: timedelta | None = None

    def priority_for(self, category: Category) -> Priority:
        """Return the lane that the caller named, else the category's."""
        if self.priority is None:
            return default_priority(category)
        return self.priority


def check_dates(submission: Submission) -> timedelta:
    """Refuse what lies too far off or expires before it is sent; return how far ahead
    it is to be sent.

    A send_at that is a few minutes past means now: clocks differ.
    """
    if submission.send_at is None and submission.expires_at is None:
        return timedelta(0)
    now = database_now()
    send_at = submission.send_at or now
    if not EARLIEST <= send_at - now <= LATEST:
        raise InvalidSubmission(
            FieldProblem(
                "/send_at", "must be at most 5 minutes past and 400 days ahead"
            )
        )
    ahead = max(send_at - now, timedelta(0))
    if submission.expires_at is None:
        return ahead
    if submission.expires_at <= max(send_at, now):
        raise expires_too_soon()
    if submission.expires_at - send_at > LATEST:
        raise InvalidSubmission(
            FieldProblem("/expires_at", "must be at most 400 days after send_at")
        )
    return ahead


def expires_too_soon() -> InvalidSubmission:
    """Say that the notification would never be sent."""
    return InvalidSubmission(
        FieldProblem("/expires_at", "must be after send_at and in the future")
    )
