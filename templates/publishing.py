"""Write a version, approve it, retire it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import Max

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from foundation.database_clock import AppNow
from providers.channels import Channel
from templates.approval import Problem, find_problems
from templates.catalog import pin
from templates.locales import canonical_locale
from templates.models import Template, TemplateContent, TemplateVersion

Status = TemplateVersion.Status


class NotADraft(Exception):
    """Only a draft can be changed or approved."""


class NotApproved(Exception):
    """Only an approved version can be retired."""


class ApprovalRefused(Exception):
    """The version is not fit to be approved."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def create_version(
    *,
    template: Template,
    schema: Mapping[str, Any],
    sample: Mapping[str, Any] | None = None,
    default_locale: str | None = None,
) -> TemplateVersion:
    """Start the next version as a draft; the locale is the tenant's unless given."""
    locale = canonical_locale(default_locale or template.tenant.default_locale)
    with transaction.atomic():
        # Two authors at once get two numbers, one after the other.
        Template.objects.select_for_update().get(pk=template.pk)
        newest = template.versions.aggregate(newest=Max("number"))["newest"] or 0
        return template.versions.create(
            number=newest + 1, schema=schema, sample=sample, default_locale=locale
        )


def add_content(
    *,
    version: TemplateVersion,
    channel: Channel,
    locale: str,
    parts: Mapping[str, str],
) -> TemplateContent:
    """Set the texts of a draft for a channel and locale, in place of earlier ones."""
    with transaction.atomic():
        draft = _lock(version, status=Status.DRAFT)
        content, _ = TemplateContent.objects.update_or_create(
            version=draft,
            channel=channel,
            locale=canonical_locale(locale),
            defaults={"parts": parts},
        )
        return content


def approve(*, version: TemplateVersion, actor: str) -> TemplateVersion:
    """Make a draft usable and unchangeable; raise ApprovalRefused with every reason."""
    with transaction.atomic():
        draft = _lock(version, status=Status.DRAFT)
        contents = list(draft.contents.order_by("channel", "locale"))
        if problems := find_problems(draft, contents):
            raise ApprovalRefused(problems)
        TemplateContent.objects.bulk_update(contents, ["compiled"])
        content_hash = pin(draft, contents).content_hash
        TemplateVersion.objects.filter(pk=draft.pk).update(
            status=Status.APPROVED,
            content_hash=content_hash,
            approved_at=AppNow(),
            approved_by=actor,
        )
        _record(
            EventKind.TEMPLATE_APPROVED, draft, actor=actor, hash=content_hash.hex()
        )
        draft.refresh_from_db(
            fields=["status", "content_hash", "approved_at", "approved_by"]
        )
        return draft


def retire(*, version: TemplateVersion, actor: str) -> TemplateVersion:
    """Take no new notifications for a version; those accepted are still sent."""
    with transaction.atomic():
        approved = _lock(version, status=Status.APPROVED)
        approved.status = Status.RETIRED
        approved.save(update_fields=["status"])
        _record(EventKind.TEMPLATE_RETIRED, approved, actor=actor)
        return approved


def _lock(
    version: TemplateVersion, *, status: TemplateVersion.Status
) -> TemplateVersion:
    # The template too: its category may not change while a version is approved.
    locked = (
        TemplateVersion.objects.select_for_update(of=("self", "template"))
        .select_related("template")
        .get(pk=version.pk)
    )
    if locked.status != status:
        raise NotADraft if status is Status.DRAFT else NotApproved
    return locked


def _record(
    kind: EventKind, version: TemplateVersion, *, actor: str, **detail: object
) -> None:
    template = version.template
    event = AuditRecord(
        kind=kind,
        tenant_id=template.tenant_id,
        actor=actor,
        detail={"template": template.name, "version": version.number, **detail},
    )
    with connection.cursor() as cursor:
        record_events(cursor, [event])
