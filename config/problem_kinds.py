"""The one table from what can go wrong to HTTP.

`type` is the path `/problems/<slug>`, the same in every deployment, so that a client
can compare it as text. It is stable; `title` and `detail` are for people.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import psycopg
from django.core import exceptions as django_errors
from django.db import InterfaceError, OperationalError
from django.http import Http404
from django.http.request import UnreadablePostError
from rest_framework import exceptions as drf_errors

from config.json_body import BodyTooLarge
from foundation.ids import MalformedId
from foundation.keyset import BadCursor
from foundation.user_ids import MalformedUserId
from inbox.reading import UnknownMessage
from notifications.acceptance.shedding import Overloaded
from notifications.acceptance.sms_rules import NumberLimited
from notifications.acceptance.storage import StorageFull
from notifications.acceptance.submission import InvalidSubmission
from notifications.cancellation import CancelledTooLate, UnknownNotification
from notifications.tracking import UnboundedFilter
from preferences.devices import UnknownDevice
from preferences.preconditions import (
    MalformedPrecondition,
    PreconditionFailed,
    PreconditionMissing,
)
from preferences.recipients import UnknownRecipient
from preferences.suppression import UnknownSuppression
from templates.catalog import UnknownTemplate
from templates.previewing import PreviewRefused
from tenants.daily_quotas import DailyQuotaExceeded, SpendCapExceeded
from tenants.failed_attempts import TooManyFailedAttempts
from tenants.idempotency import (
    IdempotencyInProgress,
    IdempotencyKeyMismatch,
    IdempotencyKeyReused,
    InvalidIdempotencyKey,
    MissingIdempotencyKey,
)
from tenants.request_rate.rate import RateLimited
from tenants.standing import TenantSuspended


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """A cause that a client can act on; docs/problems.md says how."""

    slug: str
    title: str
    status: int
    retry_after: timedelta | None = None
    # Attributes of the error that the body shows as members of the same name.
    members: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """Return the URI reference that names this kind."""
        return f"/problems/{self.slug}"


INVALID = ProblemKind("invalid-request", "The request is not valid", 422)
MALFORMED = ProblemKind("malformed-request", "The request cannot be read", 400)
UNAUTHENTICATED = ProblemKind("unauthenticated", "A valid credential is needed", 401)
FORBIDDEN = ProblemKind("forbidden", "This credential may not do that", 403)
NOT_FOUND = ProblemKind("not-found", "There is nothing here", 404)
THROTTLED = ProblemKind("too-many-requests", "Too many requests", 429)
LENGTH_REQUIRED = ProblemKind("length-required", "Content-Length is needed", 411)
TOO_LARGE = ProblemKind("body-too-large", "The body is too large", 413)
UNAVAILABLE = ProblemKind(
    "unavailable", "Not available just now", 503, timedelta(seconds=2)
)
INTERNAL = ProblemKind("internal-error", "Something went wrong on our side", 500)

# An error type stands for its subclasses too; the nearest one counts.
PROBLEMS: dict[type[Exception], ProblemKind] = {
    drf_errors.ValidationError: INVALID,
    drf_errors.ParseError: MALFORMED,
    drf_errors.NotAuthenticated: UNAUTHENTICATED,
    drf_errors.AuthenticationFailed: UNAUTHENTICATED,
    drf_errors.PermissionDenied: FORBIDDEN,
    drf_errors.NotFound: NOT_FOUND,
    drf_errors.MethodNotAllowed: ProblemKind(
        "method-not-allowed", "This method is not allowed here", 405
    ),
    drf_errors.NotAcceptable: ProblemKind(
        "not-acceptable", "The answer is JSON and nothing else", 406
    ),
    drf_errors.UnsupportedMediaType: ProblemKind(
        "unsupported-media-type", "The body must be JSON", 415
    ),
    drf_errors.Throttled: THROTTLED,
    Http404: NOT_FOUND,
    django_errors.PermissionDenied: FORBIDDEN,
    django_errors.BadRequest: MALFORMED,
    django_errors.SuspiciousOperation: MALFORMED,
    UnreadablePostError: MALFORMED,
    django_errors.RequestDataTooBig: TOO_LARGE,
    BodyTooLarge: TOO_LARGE,
    # No connection, no free one in time, a lock or a statement that took too long.
    OperationalError: UNAVAILABLE,
    InterfaceError: UNAVAILABLE,
    psycopg.OperationalError: UNAVAILABLE,
    psycopg.InterfaceError: UNAVAILABLE,
    MalformedId: NOT_FOUND,
    MalformedUserId: ProblemKind("invalid-user-id", "This is not a user id", 422),
    TenantSuspended: ProblemKind("tenant-suspended", "The tenant is suspended", 403),
    TooManyFailedAttempts: ProblemKind(
        "too-many-failed-attempts",
        "Too many failed authentications",
        429,
        TooManyFailedAttempts.retry_after,
    ),
    RateLimited: ProblemKind("rate-limited", "The tenant's rate is exceeded", 429),
    Overloaded: ProblemKind(
        "overloaded",
        "More is coming than can be done",
        503,
        members=("priority", "channel"),
    ),
    StorageFull: ProblemKind(
        "storage-full", "There is no room for more", 503, timedelta(minutes=5)
    ),
    DailyQuotaExceeded: ProblemKind(
        "daily-quota-exceeded",
        "The tenant's daily quota is used up",
        429,
        members=("channel", "quota", "resets_at"),
    ),
    SpendCapExceeded: ProblemKind(
        "spend-cap-exceeded",
        "The tenant's text messages have cost what they may a day",
        429,
        members=("cap", "resets_at"),
    ),
    NumberLimited: ProblemKind(
        "number-limited",
        "The number has had too many text messages",
        429,
        members=("rule",),
    ),
    MissingIdempotencyKey: ProblemKind(
        "idempotency-key-missing", "An idempotency key is needed", 400
    ),
    InvalidIdempotencyKey: ProblemKind(
        "idempotency-key-invalid", "The idempotency key is not valid", 400
    ),
    IdempotencyKeyMismatch: ProblemKind(
        "idempotency-key-mismatch", "Two different idempotency keys", 400
    ),
    IdempotencyKeyReused: ProblemKind(
        "idempotency-key-reused", "The key belongs to another request", 409
    ),
    IdempotencyInProgress: ProblemKind(
        "idempotency-in-progress",
        "The first request is still being answered",
        409,
        timedelta(seconds=1),
    ),
    BadCursor: ProblemKind("invalid-cursor", "The cursor is not valid", 400),
    UnknownRecipient: NOT_FOUND,
    UnknownDevice: NOT_FOUND,
    UnknownSuppression: NOT_FOUND,
    UnknownMessage: NOT_FOUND,
    UnknownNotification: NOT_FOUND,
    UnknownTemplate: NOT_FOUND,
    PreconditionMissing: ProblemKind("precondition-missing", "If-Match is needed", 428),
    MalformedPrecondition: ProblemKind(
        "precondition-malformed", "If-Match cannot be read", 400
    ),
    PreconditionFailed: ProblemKind(
        "precondition-failed", "It has changed since you read it", 412
    ),
    InvalidSubmission: INVALID,
    PreviewRefused: INVALID,
    UnboundedFilter: ProblemKind(
        "unbounded-filter", "The filter would search all of history", 422
    ),
    CancelledTooLate: ProblemKind(
        "too-late", "Nothing could be stopped any more", 409, members=("channels",)
    ),
}


# Answered without an error: by handler500 and by a middleware.
OTHER_PROBLEMS = (INTERNAL, LENGTH_REQUIRED)


def kind_of(error: Exception) -> ProblemKind | None:
    """Find the row for an error; None means that it is a bug."""
    for ancestor in type(error).__mro__:
        if kind := PROBLEMS.get(ancestor):
            return kind
    return None
