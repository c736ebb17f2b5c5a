"""Templates in the console: written by authors, approved by approvers, then final."""

from __future__ import annotations

import pytest

from audit.models import AuditEvent
from providers.channels import Channel
from templates.models import Template, TemplateContent, TemplateVersion
from tests.factories.staff import Role, console_of, said
from tests.factories.templates import (
    ApprovedVersionFactory,
    DraftFactory,
    TemplateFactory,
)
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

VERSIONS = "templates/templateversion/"
CONTENTS = "templates/templatecontent/"


@pytest.fixture
def tenant():
    return TenantFactory.create()


@pytest.fixture
def draft(tenant):
    template = TemplateFactory.create(tenant=tenant, name="welcome")
    return DraftFactory.create(template=template, sample={"name": "Ann"})


@pytest.fixture
def approved(tenant):
    template = TemplateFactory.create(tenant=tenant, name="farewell")
    return ApprovedVersionFactory.create(template=template)


def status_of(version) -> str:
    return TemplateVersion.objects.get(pk=version.pk).status


def content_of(version, channel: Channel) -> TemplateContent:
    return TemplateContent.objects.get(version_id=version.pk, channel=channel)


def test_an_author_writes_a_template_from_nothing(tenant):
    console = console_of(tenant, Role.AUTHOR)
    console.post(
        "templates/template/add/", tenant=tenant.pk, name="welcome", category="otp"
    )
    template = Template.objects.get(name="welcome")
    console.act("templates/template/", "new_version", template.pk)
    version = template.versions.get()
    console.post(f"{CONTENTS}add/", version=version.pk, channel=2, locale="VI")
    content = content_of(version, Channel.SMS)

    console.post(f"{CONTENTS}{content.pk}/change/", text="Xin chào\r\n{{ name }}")

    written = content_of(version, Channel.SMS)
    assert written.locale == "vi"
    assert written.parts == {"text": "Xin chào\n{{ name }}"}


def test_an_author_writes_mjml_and_sees_the_letter(tenant, draft):
    console = console_of(tenant, Role.AUTHOR)
    content = content_of(draft, Channel.EMAIL)
    mjml = (
        "<mjml><mj-body><mj-section><mj-column><mj-text>Hello {{ name }}</mj-text>"
        "</mj-column></mj-section></mj-body></mjml>"
    )

    console.post(
        f"{CONTENTS}{content.pk}/change/", subject="Hi", mjml=mjml, html="", text=""
    )

    assert content_of(draft, Channel.EMAIL).parts == {"subject": "Hi", "mjml": mjml}
    shown = console.get(f"{VERSIONS}{draft.pk}/change/").content.decode()
    assert "Hello Ann&lt;/div&gt;" in shown
    assert "mj-text" not in shown


def test_a_new_version_begins_as_the_newest_left_off(tenant, approved):
    console = console_of(tenant, Role.AUTHOR)

    answer = console.act("templates/template/", "new_version", approved.template_id)

    draft = approved.template.versions.get(number=2)
    assert answer.redirect_chain[0][0].endswith(f"/{draft.pk}/change/")
    assert draft.status == "draft"
    assert {(c.channel, c.locale): c.parts for c in draft.contents.all()} == {
        (c.channel, c.locale): c.parts for c in approved.contents.all()
    }


def test_an_approver_approves_and_the_trail_says_so(tenant, draft):
    console = console_of(tenant, Role.APPROVER)

    answer = console.act(VERSIONS, "approve", draft.pk)

    assert said(answer) == ["welcome v1 approved."]
    assert status_of(draft) == "approved"
    event = AuditEvent.objects.get(kind="template.approved")
    assert event.actor == f"staff:{console.user.username}"


def test_approving_warns_of_what_gmail_would_clip(tenant):
    """O-EML-6"""
    long = {"subject": "Hi", "html": "đ" * 60_000}
    contents = {Channel.EMAIL: {"en": long}}
    draft = DraftFactory.create(
        template=TemplateFactory.create(tenant=tenant, name="digest"),
        contents=contents,
        sample={"name": "Ann"},
    )

    answer = console_of(tenant, Role.APPROVER).act(VERSIONS, "approve", draft.pk)

    approved, warned = said(answer)
    assert approved == "digest v1 approved."
    assert "email/en: the HTML has 120,000 bytes" in warned


def test_what_stands_against_approval_is_said_and_shown(tenant, draft):
    content_of(draft, Channel.EMAIL).delete()
    draft.contents.filter(channel=Channel.SMS).update(parts={"text": "{{ nobody }}"})
    console = console_of(tenant, Role.APPROVER)

    answer = console.act(VERSIONS, "approve", draft.pk)

    reason = "nobody is not in the schema"
    assert reason in said(answer)[0]
    assert reason in console.get(f"{VERSIONS}{draft.pk}/change/").content.decode()
    assert status_of(draft) == "draft"


def test_retiring_is_for_approved_versions(tenant, draft, approved):
    console = console_of(tenant, Role.APPROVER)

    answer = console.act(VERSIONS, "retire", draft.pk, approved.pk)

    assert said(answer) == [
        "farewell v1 retired.",
        "welcome v1 not retired: Only an approved version can be retired.",
    ]
    assert [status_of(draft), status_of(approved)] == ["draft", "retired"]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AUTHOR])
def test_who_is_no_approver_approves_nothing(tenant, draft, role):
    console_of(tenant, role).act(VERSIONS, "approve", draft.pk)

    assert status_of(draft) == "draft"


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.APPROVER])
def test_who_is_no_author_writes_nothing(tenant, draft, role):
    console = console_of(tenant, role)
    content = content_of(draft, Channel.SMS)

    codes = {
        console.get("templates/template/add/").status_code,
        console.get(f"{CONTENTS}add/").status_code,
        console.post(f"{CONTENTS}{content.pk}/change/", text="x").status_code,
        console.post(f"{VERSIONS}{draft.pk}/change/", schema="{}").status_code,
        console.post(f"{CONTENTS}{content.pk}/delete/", post="yes").status_code,
    }
    console.act("templates/template/", "new_version", draft.template_id)

    assert codes == {403}
    assert draft.template.versions.count() == 1


def test_an_approved_version_can_only_be_looked_at(tenant, approved):
    console = console_of(tenant, Role.AUTHOR, Role.APPROVER)
    content = content_of(approved, Channel.SMS)

    codes = {
        console.post(f"{VERSIONS}{approved.pk}/change/", schema="{}").status_code,
        console.post(f"{CONTENTS}{content.pk}/change/", text="x").status_code,
        console.post(f"{CONTENTS}{content.pk}/delete/", post="yes").status_code,
    }

    assert codes == {403}
    assert console.get(f"{VERSIONS}{approved.pk}/change/").status_code == 200
    assert console.get(f"{CONTENTS}{content.pk}/change/").status_code == 200


def test_a_second_content_for_a_place_does_not_wipe_the_first(tenant, draft):
    console = console_of(tenant, Role.AUTHOR)

    console.post(f"{CONTENTS}add/", version=draft.pk, channel=2, locale="EN")

    assert content_of(draft, Channel.SMS).parts != {}


def test_schema_and_sample_of_a_draft_are_written_as_json(tenant, draft):
    console = console_of(tenant, Role.AUTHOR)
    page = f"{VERSIONS}{draft.pk}/change/"
    schema = '{"type": "object", "properties": {"name": {"type": "string"}}}'

    console.post(page, default_locale="pt_br", schema=schema, sample='{"name": "Bo"}')

    written = TemplateVersion.objects.get(pk=draft.pk)
    assert written.default_locale == "pt-BR"
    assert written.sample == {"name": "Bo"}
    assert written.schema["properties"] == {"name": {"type": "string"}}


def test_a_draft_may_go_without_a_sample(tenant, draft):
    page = f"{VERSIONS}{draft.pk}/change/"

    console_of(tenant, Role.AUTHOR).post(
        page, default_locale="en", schema='{"type": "object"}', sample=""
    )

    written = TemplateVersion.objects.get(pk=draft.pk)
    assert (written.schema, written.sample) == ({"type": "object"}, None)


@pytest.mark.parametrize("schema", ["", "[]", "{", "7"])
def test_a_schema_that_is_no_object_is_refused_in_the_form(tenant, draft, schema):
    page = f"{VERSIONS}{draft.pk}/change/"

    answer = console_of(tenant, Role.AUTHOR).post(
        page, default_locale="en", schema=schema
    )

    assert answer.status_code == 200
    assert TemplateVersion.objects.get(pk=draft.pk).schema == draft.schema


def test_page_of_a_version_shows_its_texts_with_the_sample(tenant, draft):
    page = console_of(tenant, Role.VIEWER).get(f"{VERSIONS}{draft.pk}/change/")

    shown = page.content.decode()
    assert "Hello Ann, your order is on its way." in shown
    assert 'sandbox title="As a mail program shows it"' in shown


def test_markup_of_a_template_runs_nowhere_on_the_page(tenant, draft):
    """OWASP API8: the preview is confined and everything else is escaped."""
    evil = "<script>alert(1)</script>"
    content = content_of(draft, Channel.EMAIL)
    content.parts = {"subject": evil, "html": evil, "text": evil}
    content.save()

    page = console_of(tenant, Role.VIEWER).get(f"{VERSIONS}{draft.pk}/change/")

    assert evil not in page.content.decode()
