"""Everything that one acceptance writes, as the parameters of its statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson
from django.conf import settings

from audit.events import EventKind
from foundation.ids import new_id, public_id, sibling_id
from notifications import order
from notifications.acceptance.submission import Caller, Submission
from notifications.acceptance.targets import Target
from notifications.statuses import DeliveryStatus
from preferences.policy import Decision, Verdict
from preferences.releasing import release_at
from templates.catalog import PinnedVersion
from tenants import data_keys
from tenants.categories import Category, Priority
from tenants.idempotency import HASH_VERSION, KEEP_FOR, StoredResponse
from tenants.limits import keeps_order


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The parameters of the accepting statement and the answer that it stores."""

    parameters: dict[str, object]
    response: StoredResponse
    # The rows of its deliveries, as the statement reads them.
    targets: Sequence[Mapping[str, object]]
    # How many will be sent, by the key of the channel.
    messages: Mapping[str, int]

    @property
    def is_urgent(self) -> bool:
        """Tell whether it is HIGH and due at once."""
        priority = self.parameters["priority"]
        return self.is_due_at_once and priority == Priority.HIGH.value

    @property
    def is_due_at_once(self) -> bool:
        return self.parameters["send_at"] is None

    @property
    def order_keys(self) -> list[int]:
        """Name the queues that its deliveries stand in; none where order is off."""
        keys = (target["order_key"] for target in self.targets)
        return [key for key in keys if isinstance(key, int)]

    def behind(self, occupied: Mapping[int, datetime]) -> dict[str, object]:
        """Return the parameters that let it wait in queues which are not empty.

        What policy defers has a date already and a reason that tells more.
        """
        rows = [
            {**target, "reason": order.REASON, "due_at": occupied[key]}
            if isinstance(key := target["order_key"], int)
            and key in occupied
            and target["due_at"] is None
            else target
            for target in self.targets
        ]
        return {**self.parameters, "targets": _written(rows)}


def build_command(
    *,
    caller: Caller,
    submission: Submission,
    version: PinnedVersion,
    targets: Sequence[Target],
) -> Command:
    """Mint the ids, seal the personal part and write the answer."""
    notification_id = new_id()
    response = StoredResponse(
        status_code=202, body=_answer(notification_id, submission, targets)
    )
    deliveries = [sibling_id(notification_id) for _ in targets]
    rows = _delivery_rows(caller, submission, version, deliveries, targets)
    return Command(
        response=response,
        targets=rows,
        messages=_messages(targets),
        parameters={
            "tenant_id": caller.tenant_id,
            "actor": caller.actor,
            "is_test": caller.is_test,
            **_key_parameters(submission, response),
            **_notification_parameters(notification_id, caller, submission, version),
            "targets": _written(rows),
            **_event_parameters(notification_id, deliveries, targets, version),
        },
    )


def _messages(targets: Sequence[Target]) -> dict[str, int]:
    messages: dict[str, int] = {}
    for target in targets:
        if _first_status(target) is DeliveryStatus.PENDING:
            channel = target.channel.key
            messages[channel] = messages.get(channel, 0) + 1
    return messages


def _key_parameters(
    submission: Submission, response: StoredResponse
) -> dict[str, object]:
    return {
        "key": submission.idempotency_key,
        "fingerprint": submission.fingerprint,
        "hash_version": HASH_VERSION,
        "status_code": response.status_code,
        "response": response.body,
        "dedupe_window": submission.dedupe_window,
        "key_life": KEEP_FOR,
    }


def _notification_parameters(
    notification_id: UUID,
    caller: Caller,
    submission: Submission,
    version: PinnedVersion,
) -> dict[str, object]:
    category = version.base_category
    content = {"variables": submission.variables, "metadata": submission.metadata}
    return {
        "id": notification_id,
        "user_id": submission.user_id,
        "version_id": version.id,
        "content_hash": version.content_hash,
        "category": category.value,
        "priority": submission.priority_for(category).value,
        "locale": submission.locale,
        "reference": submission.reference,
        "send_at": submission.send_at,
        "expires_at": submission.expires_at,
        "default_expiry": settings.DEFAULT_EXPIRY[category.value],
        "retry_window": settings.RETRY_POLICIES[category.value]["window"],
        "sealed": data_keys.seal(
            tenant_id=caller.tenant_id,
            table="notification_content",
            row=notification_id,
            plaintext=orjson.dumps(content),
        ),
    }


def _written(rows: Sequence[Mapping[str, object]]) -> str:
    return orjson.dumps(rows).decode()


def _delivery_rows(
    caller: Caller,
    submission: Submission,
    version: PinnedVersion,
    deliveries: Sequence[UUID],
    targets: Sequence[Target],
) -> list[dict[str, object]]:
    category = version.base_category
    is_ordered = keeps_order(tenant_id=caller.tenant_id, category=category)
    return [
        {
            "id": delivery_id,
            "channel": target.channel.value,
            "status": _first_status(target).value,
            "reason": target.decision.reason,
            "due_at": _due_at(caller, submission, category, target),
            "address_id": target.address_id,
            "address_sealed": _sealed_address(caller, delivery_id, target),
            "address_key": _bytea(target.key),
            "order_key": _order_key(caller, submission, category, target)
            if is_ordered
            else None,
        }
        for delivery_id, target in zip(deliveries, targets, strict=True)
    ]


def _due_at(
    caller: Caller, submission: Submission, category: Category, target: Target
) -> datetime | None:
    """Return when what policy defers is due; None where it defers nothing."""
    until, basis = target.decision.until, target.decision.basis
    if until is None:
        return None
    expires_at, lasts = submission.expires_at, settings.DEFAULT_EXPIRY[category.value]
    if expires_at is None and lasts is not None and basis is not None:
        expires_at = basis.at + lasts
    return release_at(
        until,
        person=(caller.tenant_id, submission.user_id),
        spread=settings.QUIET_HOURS_SPREAD,
        expires_at=expires_at,
    )


def _order_key(
    caller: Caller, submission: Submission, category: Category, target: Target
) -> int | None:
    if _first_status(target) is not DeliveryStatus.PENDING:
        return None
    return order.order_key(
        person=(caller.tenant_id, submission.user_id),
        channel=target.channel,
        category=category,
        priority=submission.priority_for(category),
        is_test=caller.is_test,
        address_key=target.key,
    )


def _first_status(target: Target) -> DeliveryStatus:
    if target.decision.verdict is Verdict.SUPPRESS:
        return DeliveryStatus.SUPPRESSED
    return DeliveryStatus.PENDING


def _sealed_address(caller: Caller, delivery_id: UUID, target: Target) -> str | None:
    if target.given is None:
        return None
    return _bytea(
        data_keys.seal(
            tenant_id=caller.tenant_id,
            table="delivery",
            row=delivery_id,
            plaintext=target.given.encode(),
        )
    )


def _bytea(value: bytes) -> str:
    """Write bytes as PostgreSQL reads them out of text."""
    return f"\\x{value.hex()}"


def _answer(
    notification_id: UUID, submission: Submission, targets: Sequence[Target]
) -> bytes:
    return orjson.dumps(
        {
            "notification_id": public_id("ntf", notification_id),
            "status": "accepted",
            "channels": [channel.key for channel in submission.channels],
            "decisions": _decisions(targets),
        }
    )


def _decisions(targets: Sequence[Target]) -> list[dict[str, object]]:
    by_channel = {target.channel: target.decision for target in targets}
    return [
        {
            "channel": channel.key,
            "decision": decision.verdict.value,
            "until": decision.until,
            "reason": decision.reason,
            **decision.told(),
        }
        for channel, decision in by_channel.items()
    ]


def _event_parameters(
    notification_id: UUID,
    deliveries: Sequence[UUID],
    targets: Sequence[Target],
    version: PinnedVersion,
) -> dict[str, object]:
    """One event for the acceptance, one for each delivery that policy did not allow."""
    accepted = {
        "template": version.name,
        "version": version.number,
        "channels": [target.channel.key for target in targets],
        "decisions": _decisions(targets),
    }
    events = [
        _event(EventKind.NOTIFICATION_ACCEPTED, None, "", accepted),
        *(
            _event(
                _HELD_BACK[target.decision.verdict],
                delivery_id,
                target.decision.reason,
                _held_back_by(target.decision),
            )
            for delivery_id, target in zip(deliveries, targets, strict=True)
            if target.decision.verdict in _HELD_BACK
        ),
    ]
    # Sorted, since ids of one moment are not: the acceptance comes first.
    ids = sorted(sibling_id(notification_id) for _ in events)
    rows = [
        {"id": event_id, **event} for event_id, event in zip(ids, events, strict=True)
    ]
    return {"events": orjson.dumps(rows).decode()}


_HELD_BACK = {
    Verdict.SUPPRESS: EventKind.DELIVERY_SUPPRESSED,
    Verdict.DEFER: EventKind.DELIVERY_SNOOZED,
}


def _held_back_by(decision: Decision) -> dict[str, object]:
    if decision.until is None:
        return decision.told()
    return {**decision.told(), "until": decision.until}


def _event(
    kind: EventKind, delivery_id: UUID | None, reason: str, detail: Mapping[str, object]
) -> dict[str, object]:
    return {
        "kind": kind.value,
        "delivery_id": delivery_id,
        "reason": reason,
        "detail": detail,
    }
