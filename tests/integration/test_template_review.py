"""Versions are looked at by somebody else, where the tenant wants it so."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from audit.models import AuditEvent
from providers.channels import Channel
from templates.catalog import UnknownTemplateVersion, find_version
from templates.models import TemplateContent, TemplateVersion
from templates.publishing import (
    ApprovalRefused,
    NotADraft,
    NotInReview,
    OwnWork,
    ReviewNeeded,
    add_content,
    approve,
    edit_version,
    remove_content,
    send_back,
    submit,
)
from tenants.models import Tenant
from tests.factories.templates import SCHEMA, DraftFactory

pytestmark = pytest.mark.django_db

AUTHOR, APPROVER = "staff:author", "staff:an"
MJML = (
    "<mjml><mj-body><mj-section><mj-column><mj-text>Hello {{ name }}</mj-text>"
    "</mj-column></mj-section></mj-body></mjml>"
)


@pytest.fixture
def draft() -> TemplateVersion:
    return reviewed(DraftFactory.create())


def reviewed(version: TemplateVersion) -> TemplateVersion:
    """Make its tenant one that has versions reviewed."""
    Tenant.objects.filter(pk=version.template.tenant_id).update(reviews_templates=True)
    return version


def stored(version: TemplateVersion) -> TemplateVersion:
    return TemplateVersion.objects.get(pk=version.pk)


def execute(statement: str) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
        changed: int = cursor.rowcount
    return changed


def test_a_draft_is_submitted_approved_and_each_step_told(draft):
    submit(version=draft, actor=AUTHOR)
    assert stored(draft).status == "in_review"

    approve(version=draft, actor=APPROVER)

    assert stored(draft).status == "approved"
    told = AuditEvent.objects.filter(kind__startswith="template.").order_by("id")
    assert list(told.values_list("kind", "actor", "detail__edited_by")) == [
        ("template.submitted", AUTHOR, None),
        ("template.approved", APPROVER, AUTHOR),
    ]


def test_a_draft_that_was_not_submitted_is_not_approved(draft):
    with pytest.raises(ReviewNeeded):
        approve(version=draft, actor=APPROVER)


def test_who_last_edited_a_version_does_not_approve_it(draft):
    add_content(
        version=draft,
        channel=Channel.SMS,
        locale="en",
        parts={"text": "Mine"},
        actor=APPROVER,
    )
    submit(version=draft, actor=AUTHOR)

    with pytest.raises(OwnWork):
        approve(version=draft, actor=APPROVER)

    approve(version=draft, actor=AUTHOR)


def test_without_review_a_draft_is_approved_by_its_author_directly():
    draft = DraftFactory.create()

    assert approve(version=draft, actor=AUTHOR).status == "approved"


def test_without_review_a_version_may_still_be_submitted():
    draft = DraftFactory.create()
    submit(version=draft, actor=AUTHOR)

    assert approve(version=draft, actor=AUTHOR).status == "approved"


def test_every_edit_notes_who_made_it(draft):
    content = draft.contents.get(channel=Channel.SMS)
    edits = {
        "staff:1": lambda actor: edit_version(
            version=draft, schema=SCHEMA, sample=None, default_locale="en", actor=actor
        ),
        "staff:2": lambda actor: add_content(
            version=draft, channel=Channel.SMS, locale="vi", parts={}, actor=actor
        ),
        "staff:3": lambda actor: remove_content(content=content, actor=actor),
    }

    for actor, edit in edits.items():
        edit(actor)
        assert stored(draft).edited_by == actor


def test_who_submits_what_nobody_is_known_to_have_edited_answers_for_it(draft):
    """Drafts of before editors were noted."""
    TemplateVersion.objects.update(edited_by="")

    submit(version=draft, actor=APPROVER)

    with pytest.raises(OwnWork):
        approve(version=draft, actor=APPROVER)


def test_what_nobody_could_approve_is_not_submitted():
    draft = DraftFactory.create(contents={})

    with pytest.raises(ApprovalRefused, match="contents: there are none"):
        submit(version=draft, actor=AUTHOR)

    assert stored(draft).status == "draft"


def test_a_version_sent_back_is_a_draft_with_a_note_until_it_is_submitted(draft):
    submit(version=draft, actor=AUTHOR)
    send_back(version=draft, actor=APPROVER, note="Too loud")
    assert (stored(draft).status, stored(draft).review_note) == ("draft", "Too loud")

    submit(version=draft, actor=AUTHOR)

    assert (stored(draft).status, stored(draft).review_note) == ("in_review", "")
    kinds = AuditEvent.objects.order_by("id").values_list("kind", flat=True)
    assert list(kinds) == [
        "template.submitted",
        "template.sent_back",
        "template.submitted",
    ]


def test_only_a_draft_is_submitted_and_only_what_is_in_review_sent_back(draft):
    with pytest.raises(NotInReview):
        send_back(version=draft, actor=APPROVER)
    submit(version=draft, actor=AUTHOR)
    with pytest.raises(NotADraft):
        submit(version=draft, actor=AUTHOR)


def test_nothing_is_edited_in_review(draft):
    content = draft.contents.get(channel=Channel.SMS)
    submit(version=draft, actor=AUTHOR)

    with pytest.raises(NotADraft):
        add_content(
            version=draft, channel=Channel.SMS, locale="en", parts={}, actor=AUTHOR
        )
    with pytest.raises(NotADraft):
        remove_content(content=content, actor=AUTHOR)
    with pytest.raises(NotADraft):
        edit_version(
            version=draft, schema={}, sample=None, default_locale="en", actor=AUTHOR
        )


def test_what_is_in_review_is_not_sent(draft):
    submit(version=draft, actor=AUTHOR)

    for number in (None, 1):
        with pytest.raises(UnknownTemplateVersion):
            find_version(
                tenant_id=draft.template.tenant_id,
                name=draft.template.name,
                number=number,
            )


def test_letters_are_made_of_what_was_reviewed():
    contents = {Channel.EMAIL: {"en": {"subject": "Hi", "mjml": MJML}}}
    draft = reviewed(DraftFactory.create(contents=contents))
    submit(version=draft, actor=AUTHOR)

    approve(version=draft, actor=APPROVER)

    content = TemplateContent.objects.get(version=draft)
    assert content.parts["mjml"] == MJML
    assert content.sent_parts["text"] == "Hello {{ name }}"


@pytest.mark.parametrize(
    "statement",
    [
        """UPDATE template_version SET schema = '{"a": 1}'""",
        "UPDATE template_version SET default_locale = 'vi'",
        "UPDATE template_version SET edited_by = 'staff:other'",
        "UPDATE template_version SET status = 'draft', edited_by = 'staff:other'",
        "UPDATE template_version SET status = 'retired'",
        "DELETE FROM template_version",
        """UPDATE template_content SET parts = '{"text": "Send money"}'""",
        """UPDATE template_content SET compiled = '{}', locale = 'vi'""",
        "UPDATE template_content SET layout_version_id = 1",
        "DELETE FROM template_content",
        "UPDATE template SET category = 'otp'",
        """UPDATE template_version SET status = 'approved', edited_by = 'staff:x',
           content_hash = sha256('a'), approved_at = now(), approved_by = 'staff:an'""",
        """UPDATE template_version SET status = 'approved', approved_by = edited_by,
           content_hash = sha256('a'), approved_at = now()""",
    ],
)
def test_plain_sql_is_refused_in_review(draft, statement: str):
    submit(version=draft, actor=AUTHOR)

    with pytest.raises(IntegrityError):
        execute(statement)


def test_plain_sql_approves_no_draft_that_needs_review(draft):
    with pytest.raises(IntegrityError, match="needs the review of somebody else"):
        execute(
            """UPDATE template_version SET status = 'approved', approved_at = now(),
               approved_by = 'staff:an', content_hash = sha256('a')"""
        )
