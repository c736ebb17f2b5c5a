"""A version begins as another one left off; an earlier one comes back in one act."""

from __future__ import annotations

import pytest

from audit.models import AuditEvent
from providers.channels import Channel
from templates.catalog import clear_caches, find_version
from templates.copying import NeverApproved, copy_version, roll_back
from templates.models import TemplateVersion
from templates.publishing import (
    ApprovalRefused,
    OwnWork,
    add_content,
    approve,
    create_version,
    retire,
    submit,
)
from tests.factories.templates import SCHEMA, ApprovedVersionFactory, DraftFactory

pytestmark = pytest.mark.django_db

AUTHOR, APPROVER = "staff:author", "staff:an"


def newer(version: TemplateVersion, *, text: str) -> TemplateVersion:
    """Approve another version of the template."""
    draft = create_version(template=version.template, schema=SCHEMA, actor=AUTHOR)
    add_content(
        version=draft,
        channel=Channel.SMS,
        locale="en",
        parts={"text": text},
        actor=AUTHOR,
    )
    submit(version=draft, actor=AUTHOR)
    return approve(version=draft, actor=APPROVER)


def in_use(version: TemplateVersion) -> int:
    clear_caches()
    template = version.template
    return find_version(
        tenant_id=template.tenant_id, name=template.name, number=None
    ).number


def texts(version: TemplateVersion) -> dict[tuple[int, str], dict[str, str]]:
    return {(c.channel, c.locale): c.parts for c in version.contents.all()}


def ask_for_review(version: TemplateVersion) -> None:
    tenant = version.template.tenant
    tenant.reviews_templates = True
    tenant.save()


def test_a_copy_is_a_draft_that_says_the_same():
    source = ApprovedVersionFactory.create(sample={"name": "An"})
    newer(source, text="Hi")

    draft = copy_version(source=source, actor="staff:binh")

    assert (draft.number, draft.status) == (3, "draft")
    assert (draft.schema, draft.sample) == (source.schema, source.sample)
    assert texts(draft) == texts(source)
    assert TemplateVersion.objects.get(pk=draft.pk).edited_by == "staff:binh"


def test_rolling_back_approves_what_was_as_the_newest_version():
    first = ApprovedVersionFactory.create()
    second = newer(first, text="Oops")
    assert in_use(first) == 2

    third = roll_back(version=first, actor=APPROVER)

    assert (third.number, in_use(first)) == (3, 3)
    assert third.content_hash == first.content_hash
    assert TemplateVersion.objects.get(pk=second.pk).status == "approved"


def test_rolling_back_is_told_with_where_to():
    first = ApprovedVersionFactory.create()
    newer(first, text="Oops")

    roll_back(version=first, actor="staff:binh")

    event = AuditEvent.objects.get(kind="template.rolled_back")
    assert event.actor == "staff:binh"
    assert event.detail == {"template": first.template.name, "version": 3, "to": 1}
    approved = AuditEvent.objects.filter(kind="template.approved").latest("id")
    assert (approved.actor, approved.detail["version"]) == ("staff:binh", 3)


def test_a_retired_version_can_be_gone_back_to():
    first = retire(version=ApprovedVersionFactory.create(), actor=APPROVER)

    assert roll_back(version=first, actor=APPROVER).number == 2


def test_what_was_never_approved_cannot_be_gone_back_to():
    with pytest.raises(NeverApproved):
        roll_back(version=DraftFactory.create(), actor=APPROVER)


def test_where_versions_are_reviewed_nobody_rolls_back_to_their_own():
    first = ApprovedVersionFactory.create()
    ask_for_review(first)

    with pytest.raises(OwnWork):
        roll_back(version=first, actor=AUTHOR)
    assert first.template.versions.count() == 1

    assert roll_back(version=first, actor=APPROVER).status == "approved"


def test_versions_of_before_editors_were_noted_can_be_gone_back_to():
    draft = DraftFactory.create()
    TemplateVersion.objects.update(edited_by="")
    first = approve(version=draft, actor=APPROVER)
    ask_for_review(first)

    assert roll_back(version=first, actor=APPROVER).edited_by == "unknown"


def test_what_is_no_longer_fit_is_not_gone_back_to(monkeypatch):
    first = ApprovedVersionFactory.create()
    monkeypatch.setattr("templates.grammar.MAX_TEXT", 10)

    with pytest.raises(ApprovalRefused, match="longer than 10 characters"):
        roll_back(version=first, actor=APPROVER)

    assert first.template.versions.count() == 1
