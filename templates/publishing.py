"""Write a version, have it reviewed, approve it, retire it."""

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
    """Only a draft can be changed, submitted or approved."""


class NotInReview(Exception):
    """Only a version in review can be sent back."""


class NotApproved(Exception):
    """Only an approved version can be retired."""


class ReviewNeeded(Exception):
    """The tenant has versions reviewed: it must be submitted first."""


class OwnWork(Exception):
    """Who last edited a version may not approve it."""


class ApprovalRefused(Exception):
    """The version is not fit to be approved."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


_REFUSALS = {
    Status.DRAFT: NotADraft,
    Status.IN_REVIEW: NotInReview,
    Status.APPROVED: NotApproved,
}


def create_version(
    *,
    template: Template,
    schema: Mapping[str, Any],
    sample: Mapping[str, Any] | None = None,
    default_locale: str | None = None,
    actor: str,
) -> TemplateVersion:
    """Start the next version as a draft; the locale is the tenant's unless given."""
    locale = canonical_locale(default_locale or template.tenant.default_locale)
    with transaction.atomic():
        # Two authors at once get two numbers, one after the other.
        Template.objects.select_for_update().get(pk=template.pk)
        newest = template.versions.aggregate(newest=Max("number"))["newest"] or 0
        return template.versions.create(
            number=newest + 1,
            schema=schema,
            sample=sample,
            default_locale=locale,
            edited_by=actor,
        )


def edit_version(
    *,
    version: TemplateVersion,
    schema: Mapping[str, Any],
    sample: Mapping[str, Any] | None,
    default_locale: str,
    actor: str,
) -> None:
    """Set what the texts of a draft may use, and where a search for a locale ends."""
    with transaction.atomic():
        draft = _lock(version, Status.DRAFT)
        draft.schema, draft.sample = dict(schema), sample
        draft.default_locale = canonical_locale(default_locale)
        draft.edited_by = actor
        draft.save(update_fields=["schema", "sample", "default_locale", "edited_by"])


def add_content(
    *,
    version: TemplateVersion,
    channel: Channel,
    locale: str,
    parts: Mapping[str, str],
    actor: str,
) -> TemplateContent:
    """Set the texts of a draft for a channel and locale, in place of earlier ones."""
    with transaction.atomic():
        draft = _lock_to_edit(version, actor=actor)
        content, _ = TemplateContent.objects.update_or_create(
            version=draft,
            channel=channel,
            locale=canonical_locale(locale),
            defaults={"parts": parts},
        )
        return content


def remove_content(*, content: TemplateContent, actor: str) -> None:
    """Take the texts for a channel and locale out of a draft."""
    with transaction.atomic():
        _lock_to_edit(content.version, actor=actor)
        content.delete()


def submit(*, version: TemplateVersion, actor: str) -> None:
    """Ask for the review of a draft, which nobody can edit from then on.

    Raises ApprovalRefused where nobody could approve it.
    """
    with transaction.atomic():
        draft = _lock(version, Status.DRAFT)
        contents = _contents(draft)
        if problems := find_problems(draft, contents):
            raise ApprovalRefused(problems)
        TemplateContent.objects.bulk_update(contents, ["layout_version"])
        draft.status = Status.IN_REVIEW
        draft.edited_by = draft.edited_by or actor  # written before editors were noted
        draft.review_note = ""
        draft.save(update_fields=["status", "edited_by", "review_note"])
        record_step(EventKind.TEMPLATE_SUBMITTED, draft, actor=actor)


def send_back(*, version: TemplateVersion, actor: str, note: str = "") -> None:
    """Make a version in review a draft again, with a note to its authors."""
    with transaction.atomic():
        reviewed = _lock(version, Status.IN_REVIEW)
        reviewed.status, reviewed.review_note = Status.DRAFT, note
        reviewed.save(update_fields=["status", "review_note"])
        record_step(EventKind.TEMPLATE_SENT_BACK, reviewed, actor=actor)


def approve(*, version: TemplateVersion, actor: str) -> TemplateVersion:
    """Make a version usable and unchangeable; raise ApprovalRefused with every reason.

    Where the tenant has versions reviewed, it must be in review, and the actor be
    another than who last edited it (ReviewNeeded, OwnWork).
    """
    with transaction.atomic():
        draft = _lock(version, Status.DRAFT, Status.IN_REVIEW)
        if draft.template.tenant.reviews_templates:
            if draft.status != Status.IN_REVIEW:
                raise ReviewNeeded(ReviewNeeded.__doc__)
            if draft.edited_by == actor:
                raise OwnWork(OwnWork.__doc__)
        contents = _contents(draft)
        if problems := find_problems(draft, contents):
            raise ApprovalRefused(problems)
        TemplateContent.objects.bulk_update(contents, ["compiled", "layout_version"])
        content_hash = pin(draft, contents).content_hash
        TemplateVersion.objects.filter(pk=draft.pk).update(
            status=Status.APPROVED,
            content_hash=content_hash,
            approved_at=AppNow(),
            approved_by=actor,
        )
        record_step(
            EventKind.TEMPLATE_APPROVED,
            draft,
            actor=actor,
            hash=content_hash.hex(),
            edited_by=draft.edited_by,
            layouts=sorted(
                {str(each.layout_version) for each in contents if each.layout_version}
            ),
        )
        draft.refresh_from_db(
            fields=["status", "content_hash", "approved_at", "approved_by"]
        )
        return draft


def retire(*, version: TemplateVersion, actor: str) -> TemplateVersion:
    """Take no new notifications for a version; those accepted are still sent."""
    with transaction.atomic():
        approved = _lock(version, Status.APPROVED)
        approved.status = Status.RETIRED
        approved.save(update_fields=["status"])
        record_step(EventKind.TEMPLATE_RETIRED, approved, actor=actor)
        return approved


def record_step(
    kind: EventKind, version: TemplateVersion, *, actor: str, **detail: object
) -> None:
    """Tell the trail what became of a version."""
    template = version.template
    event = AuditRecord(
        kind=kind,
        tenant_id=template.tenant_id,
        actor=actor,
        detail={"template": template.name, "version": version.number, **detail},
    )
    with connection.cursor() as cursor:
        record_events(cursor, [event])


def _contents(version: TemplateVersion) -> list[TemplateContent]:
    return list(version.contents.order_by("channel", "locale"))


def _lock(
    version: TemplateVersion, *statuses: TemplateVersion.Status
) -> TemplateVersion:
    # The template too: its category may not change while a version is approved.
    locked = (
        TemplateVersion.objects.select_for_update(of=("self", "template"))
        .select_related("template")
        .get(pk=version.pk)
    )
    if locked.status not in statuses:
        refusal = _REFUSALS[statuses[0]]
        raise refusal(refusal.__doc__)
    return locked


def _lock_to_edit(version: TemplateVersion, *, actor: str) -> TemplateVersion:
    draft = _lock(version, Status.DRAFT)
    draft.edited_by = actor
    draft.save(update_fields=["edited_by"])
    return draft
