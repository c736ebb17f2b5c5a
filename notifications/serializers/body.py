"""The body of POST /v1/notifications as the hot path decodes it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from foundation.field_problems import FieldProblem
from foundation.user_ids import WHOLE_USER_ID
from notifications.acceptance.submission import (
    InvalidSubmission,
    Submission,
)
from preferences.regional import UnusableLocale, canonical_locale
from providers.channels import Channel
from templates.variable_schema import json_pointer
from tenants.categories import Priority
from tenants.serializers import AwareDatetime

MAX_CHANNELS = len(Channel)
TEMPLATE_NAME = r"^[a-z0-9][a-z0-9_.-]{0,99}\Z"
MAX_VERSION = 2**31 - 1
SHORTEST_DEDUPE, LONGEST_DEDUPE = 60, 30 * 24 * 3600
MAX_METADATA, METADATA_KEY, METADATA_VALUE = 20, 40, 500
LONGEST_REFERENCE = 200


class RecipientPart(Struct, forbid_unknown_fields=True):
    """Whom it is for; addresses here replace those of the profile."""

    user_id: Annotated[str, Meta(pattern=WHOLE_USER_ID)]
    email: Annotated[str, Meta(max_length=400)] | None = None
    phone: Annotated[str, Meta(max_length=100)] | None = None
    locale: Annotated[str, Meta(max_length=35)] | None = None


class TemplatePart(Struct, forbid_unknown_fields=True):
    """Which text; without a version the latest approved one."""

    name: Annotated[str, Meta(pattern=TEMPLATE_NAME)]
    version: Annotated[int, Meta(ge=1, le=MAX_VERSION)] | None = None


MetadataKey = Annotated[str, Meta(min_length=1, max_length=METADATA_KEY)]
MetadataValue = Annotated[str, Meta(max_length=METADATA_VALUE)]


class NotificationBody(Struct, forbid_unknown_fields=True):
    """A submission; the documenting twin is NotificationSerializer."""

    recipient: RecipientPart
    template: TemplatePart
    channels: Annotated[
        list[Literal["email", "sms", "push", "in_app"]],
        Meta(min_length=1, max_length=MAX_CHANNELS),
    ]
    idempotency_key: str | None = None
    variables: dict[str, Any] = {}
    send_at: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    dedupe_window_seconds: (
        Annotated[int, Meta(ge=SHORTEST_DEDUPE, le=LONGEST_DEDUPE)] | None
    ) = None
    priority: Literal["high", "normal", "low"] | None = None
    reference: Annotated[str, Meta(max_length=LONGEST_REFERENCE)] | None = None
    metadata: Annotated[
        dict[MetadataKey, MetadataValue], Meta(max_length=MAX_METADATA)
    ] = {}


# msgspec prepares a struct when it is first used; two threads that do that at once end
# the process (a null pointer, 0.22). An import is done by one of them.
msgspec.json.Decoder(NotificationBody)


def decode_body(data: object) -> NotificationBody:
    """Check a body that was scanned as strict JSON; raise InvalidSubmission."""
    try:
        body = msgspec.convert(data, NotificationBody)
    except msgspec.ValidationError as refused:
        raise InvalidSubmission(_field_error(str(refused))) from refused
    for index, channel in enumerate(body.channels):
        if channel in body.channels[:index]:
            raise InvalidSubmission(
                FieldProblem(f"/channels/{index}", "is named twice")
            )
    return body


def to_submission(
    body: NotificationBody, *, idempotency_key: str, fingerprint: bytes
) -> Submission:
    """Turn a decoded body into what acceptance takes; raise InvalidSubmission."""
    window = body.dedupe_window_seconds
    return Submission(
        idempotency_key=idempotency_key,
        fingerprint=fingerprint,
        user_id=body.recipient.user_id,
        template_name=body.template.name,
        template_version=body.template.version,
        channels=tuple(Channel.from_key(key) for key in body.channels),
        variables=body.variables,
        metadata=body.metadata,
        email=body.recipient.email,
        phone=body.recipient.phone,
        locale=_locale(body.recipient.locale),
        priority=Priority[body.priority.upper()] if body.priority else None,
        reference=body.reference or "",
        send_at=body.send_at,
        expires_at=body.expires_at,
        dedupe_window=timedelta(seconds=window) if window else None,
    )


def _locale(text: str | None) -> str:
    if not text:
        return ""
    try:
        return canonical_locale(text)
    except UnusableLocale as unusable:
        raise InvalidSubmission(
            FieldProblem(
                "/recipient/locale", str(unusable) or str(UnusableLocale.__doc__)
            )
        ) from unusable


# "Expected `str`, got `int` - at `$.recipient.user_id`", and for what is missing or
# unknown the name stands in the message and the path is its parent's. A name is the
# caller's and may hold anything, a path only our own names.
_PATH = re.compile(r" - at (?:`key` in )?`\$(?P<path>[^`]*)`\Z")
_NAMED = re.compile(
    r"Object (?:missing required|contains unknown) field `(?P<name>.*)`", re.DOTALL
)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def _field_error(message: str) -> FieldProblem:
    located = _PATH.search(message)
    steps = (
        [name or index for name, index in _STEP.findall(located["path"])]
        if located
        else []
    )
    text = message[: located.start()] if located else message
    if named := _NAMED.fullmatch(text):
        steps.append(named["name"])
    return FieldProblem(json_pointer(*(step for step in steps if step != "...")), text)
