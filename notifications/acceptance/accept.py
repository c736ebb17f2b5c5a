"""Accept a notification: one statement, one commit, and only then the 202."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import psycopg
from django.conf import settings
from django.db import OperationalError, transaction

from foundation.failpoints import failpoint
from foundation.field_problems import FieldProblem
from foundation.statements import server_cursor
from notifications import order
from notifications.acceptance import caps, sms_rules
from notifications.acceptance.command import Command, build_command
from notifications.acceptance.shedding import Overloaded, shed_late
from notifications.acceptance.sizes import check_sizes
from notifications.acceptance.sms_rules import Judged, NumberLimited
from notifications.acceptance.statement import ACCEPT
from notifications.acceptance.storage import StorageFull, check_storage
from notifications.acceptance.submission import (
    Caller,
    InvalidSubmission,
    Submission,
    check_dates,
    expires_too_soon,
)
from notifications.acceptance.targets import choose_targets
from notifications.doorbell import Doorbell
from preferences.profiles import load_profiles
from templates.catalog import (
    PinnedVersion,
    UnknownTemplate,
    UnknownTemplateVersion,
    find_version,
)
from templates.variables import check_variables
from tenants.categories import KnownCategory
from tenants.category_catalog import find_category
from tenants.daily_quotas import (
    DailyQuotaExceeded,
    Share,
    give_back,
    take_messages,
)
from tenants.idempotency import (
    IdempotencyInProgress,
    StoredResponse,
    read_first_answer,
)
from tenants.limits import SMS_SPEND
from tenants.number_counts.counts import Counted

_bell = Doorbell()


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The durable answer, and whether it had been given before."""

    response: StoredResponse
    replayed: bool


class OrderKeyBusy(OperationalError):
    """Others of its order key are being written for too long: ask again."""


class PartitionMissing(OperationalError):
    """No partition takes this month's rows: run `manage.py make_partitions`."""


def accept(*, caller: Caller, submission: Submission) -> Accepted:
    """Make a notification durable, or return the answer its key was given before.

    Raises InvalidSubmission, DailyQuotaExceeded, NumberLimited, Overloaded,
    StorageFull, IdempotencyKeyReused and IdempotencyInProgress. A retry of what was
    once accepted is answered even where it would not be accepted today (its template
    retired, its send_at passed, the quota used up).
    """
    try:
        prepared = _prepare(caller, submission)
        command = prepared.command
        if _write_within_quota(caller, prepared):
            if command.is_urgent and settings.DELIVERY_TRANSPORT == "kafka":
                _bell.ring()  # for the relay: nobody else listens
            return Accepted(response=command.response, replayed=False)
    except (
        InvalidSubmission,
        DailyQuotaExceeded,
        NumberLimited,
        Overloaded,
        StorageFull,
    ) as refused:
        try:
            first = _first_answer(caller, submission)
        except IdempotencyInProgress:
            raise refused from None
        return Accepted(response=first, replayed=True)
    return Accepted(response=_first_answer(caller, submission), replayed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """What is to be written, and what it has used or will use up."""

    command: Command
    messages: Mapping[str, int]
    counted: Sequence[Counted]


def _prepare(caller: Caller, submission: Submission) -> _Prepared:
    version = _pin_version(caller, submission)
    ahead = check_dates(submission)
    priority = submission.priority_for(version.base_category)
    check_storage(priority)
    if ahead <= settings.LATE_AFTER[priority]:
        shed_late(priority, submission.channels)
    person = (caller.tenant_id, submission.user_id)
    profile = load_profiles([person], channels=submission.channels)[person]
    category = find_category(tenant_id=caller.tenant_id, name=version.category)
    targets = choose_targets(
        caller=caller, submission=submission, profile=profile, category=category
    )
    check_sizes(
        submission=submission, version=version, profile=profile, targets=targets
    )
    judged = sms_rules.judge_texts(
        caller=caller,
        submission=submission,
        version=version,
        category=category,
        profile=profile,
        targets=targets,
    )
    judged = _within_cap(caller, submission, category, judged)
    command = build_command(
        caller=caller,
        submission=submission,
        version=version,
        targets=judged.targets,
    )
    messages = dict(command.messages)
    if judged.cost:
        messages[SMS_SPEND] = judged.cost
    return _Prepared(command=command, messages=messages, counted=judged.counted)


def _within_cap(
    caller: Caller, submission: Submission, category: KnownCategory, judged: Judged
) -> Judged:
    """Count it for the person too; what is too much for them goes nowhere."""
    counted = caps.count_for_cap(
        caller=caller, submission=submission, category=category, targets=judged.targets
    )
    if counted is None:
        return judged
    if counted.refused_by is None:
        return replace(judged, counted=(*judged.counted, counted))
    caps.take_back(judged.counted)
    return Judged(targets=caps.capped(judged.targets))


def _pin_version(caller: Caller, submission: Submission) -> PinnedVersion:
    """Find the approved version and check all that it decides."""
    try:
        version = find_version(
            tenant_id=caller.tenant_id,
            name=submission.template_name,
            number=submission.template_version,
        )
    except UnknownTemplate as unknown:
        raise InvalidSubmission(
            FieldProblem("/template/name", str(unknown))
        ) from unknown
    except UnknownTemplateVersion as unknown:
        raise InvalidSubmission(
            FieldProblem("/template/version", str(unknown))
        ) from unknown
    errors = [
        FieldProblem(f"/channels/{index}", f"the template has no {channel.key} content")
        for index, channel in enumerate(submission.channels)
        if channel not in version.contents
    ]
    errors += [
        FieldProblem(f"/variables{error.pointer}", error.message)
        for error in check_variables(
            schema=version.schema, variables=submission.variables
        )
    ]
    if errors:
        raise InvalidSubmission(*errors)
    return version


def _write_within_quota(caller: Caller, prepared: _Prepared) -> bool:
    """Write what the tenant's day has room for; count only what was written.

    Where that is unknown, because the connection broke, it counts.
    """
    if caller.is_test:
        return _write(prepared.command)
    shares: Sequence[Share] = ()
    try:
        shares = take_messages(tenant_id=caller.tenant_id, messages=prepared.messages)
        is_new = _write(prepared.command)
    except (
        DailyQuotaExceeded,
        IdempotencyInProgress,
        InvalidSubmission,
        OrderKeyBusy,
        PartitionMissing,
    ):
        _take_nothing(shares, prepared)
        raise
    if not is_new:
        _take_nothing(shares, prepared)
    return is_new


def _take_nothing(shares: Sequence[Share], prepared: _Prepared) -> None:
    give_back(shares)
    caps.take_back(prepared.counted)


def _write(command: Command) -> bool:
    """Run the accepting statement; False where the key is already somebody's."""
    failpoint("acceptance.before_commit")
    try:
        is_new = _write_in_order(command) if command.order_keys else _run(command)
    except psycopg.errors.LockNotAvailable as waited:
        raise IdempotencyInProgress from waited
    except psycopg.errors.CheckViolation as refused:
        match refused.diag.constraint_name:
            case None:
                raise PartitionMissing from refused
            case "notification_check":  # it expired since check_dates looked
                raise expires_too_soon() from refused
        raise
    failpoint("acceptance.after_commit")
    return is_new


def _run(command: Command) -> bool:
    with server_cursor() as cursor:
        cursor.execute(ACCEPT, command.parameters, prepare=True)
        return cursor.fetchone() == (1,)


def _write_in_order(command: Command) -> bool:
    """Write under the locks of its order keys, waiting behind what is unfinished.

    The statement reads its clock after it has the locks: the order is that of commits.
    """
    with transaction.atomic(durable=True), server_cursor() as cursor:
        try:
            order.lock_keys(cursor, command.order_keys)
        except psycopg.errors.LockNotAvailable as waited:
            raise OrderKeyBusy from waited
        occupied: dict[int, datetime] = {}
        if command.is_due_at_once:
            occupied = order.occupied_until(cursor, command.order_keys)
        cursor.execute(ACCEPT, command.behind(occupied), prepare=True)
        return cursor.fetchone() == (1,)


def _first_answer(caller: Caller, submission: Submission) -> StoredResponse:
    """Read the key in a statement of its own: the accepting one saw nothing while
    another transaction held the key."""
    with server_cursor() as cursor:
        return read_first_answer(
            cursor,
            tenant_id=caller.tenant_id,
            key=submission.idempotency_key,
            fingerprint=submission.fingerprint,
        )
