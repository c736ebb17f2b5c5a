"""Review in the console: authors submit, approvers approve or send back."""

from __future__ import annotations

import pytest

from providers.channels import Channel
from templates.models import TemplateVersion
from templates.publishing import submit
from tests.factories.staff import Role, console_of, said
from tests.factories.templates import DraftFactory, TemplateFactory
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

VERSIONS = "templates/templateversion/"


@pytest.fixture
def tenant():
    tenant = TenantFactory.create()
    tenant.reviews_templates = True
    tenant.save()
    return tenant


@pytest.fixture
def draft(tenant):
    template = TemplateFactory.create(tenant=tenant, name="welcome")
    return DraftFactory.create(template=template)


@pytest.fixture
def in_review(draft):
    submit(version=draft, actor="staff:author")
    return draft


def stored(version) -> TemplateVersion:
    return TemplateVersion.objects.get(pk=version.pk)


def page_of(console, version) -> str:
    page: str = console.get(f"{VERSIONS}{version.pk}/change/").content.decode()
    return page


def buttons(page: str) -> set[str]:
    names = ("submit", "approve", "send_back", "retire")
    return {name for name in names if f'name="action" value="{name}"' in page}


def test_an_author_submits_and_can_edit_no_more(tenant, draft):
    console = console_of(tenant, Role.AUTHOR)

    answer = console.act(VERSIONS, "submit", draft.pk)

    assert said(answer) == ["welcome v1 submitted."]
    assert stored(draft).status == "in_review"
    content = draft.contents.get(channel=Channel.SMS)
    codes = {
        console.post(f"{VERSIONS}{draft.pk}/change/", schema="{}").status_code,
        console.post(
            f"templates/templatecontent/{content.pk}/change/", text="x"
        ).status_code,
        console.post(
            f"templates/templatecontent/{content.pk}/delete/", post="yes"
        ).status_code,
    }
    assert codes == {403}


def test_an_approver_approves_what_somebody_else_wrote(tenant, in_review):
    answer = console_of(tenant, Role.APPROVER).act(VERSIONS, "approve", in_review.pk)

    assert said(answer) == ["welcome v1 approved."]


def test_nobody_approves_what_they_last_edited(tenant, draft):
    console = console_of(tenant, Role.AUTHOR, Role.APPROVER)
    content = draft.contents.get(channel=Channel.SMS)
    console.post(f"templates/templatecontent/{content.pk}/change/", text="Mine")
    console.act(VERSIONS, "submit", draft.pk)

    answer = console.act(VERSIONS, "approve", draft.pk)

    assert said(answer) == [
        "welcome v1 not approved: Who last edited a version may not approve it."
    ]
    assert stored(draft).edited_by == f"staff:{console.user.username}"


@pytest.mark.parametrize("edit", ["schema", "deleting"])
def test_every_form_notes_who_edited(tenant, draft, edit: str):
    console = console_of(tenant, Role.AUTHOR)
    content = draft.contents.get(channel=Channel.SMS)
    if edit == "schema":
        page = f"{VERSIONS}{draft.pk}/change/"
        console.post(page, default_locale="en", schema='{"type": "object"}')
    else:
        page = f"templates/templatecontent/{content.pk}/delete/"
        console.post(page, post="yes")

    assert stored(draft).edited_by == f"staff:{console.user.username}"


def test_what_is_sent_back_says_why(tenant, in_review):
    approver, author = (
        console_of(tenant, Role.APPROVER),
        console_of(tenant, Role.AUTHOR),
    )
    question = approver.act(VERSIONS, "send_back", in_review.pk)
    assert "What should be different?" in question.content.decode()
    assert stored(in_review).status == "in_review"

    answer = approver.act(
        VERSIONS, "send_back", in_review.pk, confirmed="yes", note="Too <b>loud</b>"
    )

    assert said(answer) == ["welcome v1 sent back."]
    assert stored(in_review).status == "draft"
    assert "Too &lt;b&gt;loud&lt;/b&gt;" in page_of(author, in_review)


@pytest.mark.parametrize(
    ("role", "of_a_draft", "of_one_in_review"),
    [
        (Role.AUTHOR, {"submit"}, set()),
        (Role.APPROVER, set(), {"approve", "send_back"}),
        (Role.VIEWER, set(), set()),
    ],
)
def test_buttons_are_those_of_the_role_and_the_status(
    tenant, draft, role, of_a_draft, of_one_in_review
):
    console = console_of(tenant, role)
    assert buttons(page_of(console, draft)) == of_a_draft

    submit(version=draft, actor="staff:author")

    assert buttons(page_of(console, draft)) == of_one_in_review


def test_without_review_a_draft_is_offered_for_approval(tenant, draft):
    tenant.reviews_templates = False
    tenant.save()

    page = page_of(console_of(tenant, Role.AUTHOR, Role.APPROVER), draft)

    assert buttons(page) == {"submit", "approve"}


@pytest.mark.parametrize("action", ["submit", "approve", "send_back"])
def test_another_tenants_versions_are_nobodys_business(in_review, action: str):
    stranger = console_of(TenantFactory.create(), Role.AUTHOR, Role.APPROVER)

    stranger.act(VERSIONS, action, in_review.pk, confirmed="yes")

    assert stored(in_review).status == "in_review"
