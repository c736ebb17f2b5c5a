"""Versions beside each other in the console, and back to an earlier one."""

from __future__ import annotations

import pytest

from providers.channels import Channel
from templates.copying import copy_version
from templates.models import TemplateVersion
from templates.publishing import add_content
from tests.factories.staff import Role, console_of, said
from tests.factories.templates import (
    ApprovedVersionFactory,
    DraftFactory,
    TemplateFactory,
)
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

VERSIONS = "templates/templateversion/"


@pytest.fixture
def tenant():
    return TenantFactory.create()


@pytest.fixture
def first(tenant):
    template = TemplateFactory.create(tenant=tenant, name="welcome")
    return ApprovedVersionFactory.create(template=template)


@pytest.fixture
def second(first):
    """A draft that says something else by text message."""
    draft = copy_version(source=first, actor="staff:author")
    add_content(
        version=draft,
        channel=Channel.SMS,
        locale="en",
        parts={"text": "Hi <script>{{ name }}</script>"},
        actor="staff:author",
    )
    return draft


def comparison(console, *versions):
    pk, other_pk = (version.pk for version in versions)
    return console.get(f"{VERSIONS}{pk}/compare/{other_pk}/")


def newest(version) -> TemplateVersion:
    found: TemplateVersion = version.template.versions.order_by("-number")[0]
    return found


def test_two_versions_are_shown_beside_each_other_escaped(tenant, first, second):
    page = comparison(console_of(tenant, Role.VIEWER), second, first)

    shown = page.content.decode()
    assert "sms/en/text" in shown
    assert "email/en" not in shown
    assert "<del>Hello {{ name }}, your order is on its way.</del>" in shown
    assert "<ins>Hi &lt;script&gt;{{ name }}&lt;/script&gt;</ins>" in shown


def test_versions_that_say_the_same_are_said_to(tenant, first):
    copy = copy_version(source=first, actor="staff:author")

    page = comparison(console_of(tenant, Role.VIEWER), first, copy)

    assert "They say the same." in page.content.decode()


def test_page_of_a_version_leads_to_the_comparisons(tenant, first, second):
    console = console_of(tenant, Role.VIEWER)

    page = console.get(f"{VERSIONS}{second.pk}/change/").content.decode()

    assert f"/admin/{VERSIONS}{second.pk}/compare/{first.pk}/" in page


def test_versions_of_other_tenants_and_templates_are_compared_with_nothing(
    tenant, first
):
    stranger, other = DraftFactory.create(), DraftFactory.create()
    sibling = DraftFactory.create(template=TemplateFactory.create(tenant=tenant))
    console = console_of(tenant, Role.VIEWER)

    codes = {
        comparison(console, *pair).status_code
        for pair in (
            *((first, stranger), (stranger, first), (stranger, other)),
            (first, sibling),
        )
    }

    assert codes == {404}


def test_an_approver_rolls_back_after_a_question(tenant, first, second):
    console = console_of(tenant, Role.AUTHOR, Role.APPROVER)
    console.act(VERSIONS, "approve", second.pk)

    question = console.act(VERSIONS, "roll_back", first.pk)
    assert newest(first) == second
    assert "welcome v1" in question.content.decode()
    answer = console.act(VERSIONS, "roll_back", first.pk, confirmed="yes")

    assert said(answer) == ["welcome v1 approved anew."]
    third = newest(first)
    assert (third.number, third.status) == (3, "approved")
    assert third.approved_by == f"staff:{console.user.username}"


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AUTHOR])
def test_who_is_no_approver_rolls_nothing_back(tenant, first, role):
    console_of(tenant, role).act(VERSIONS, "roll_back", first.pk, confirmed="yes")

    assert newest(first) == first


def test_what_is_in_use_is_not_offered_to_roll_back_to(tenant, first, second):
    console = console_of(tenant, Role.APPROVER)
    button = 'name="action" value="roll_back"'
    page = f"{VERSIONS}{first.pk}/change/"
    assert button not in console.get(page).content.decode()

    console.act(VERSIONS, "approve", second.pk)

    assert button in console.get(page).content.decode()


def test_an_author_begins_from_any_version(tenant, first, second):
    console = console_of(tenant, Role.AUTHOR)

    answer = console.act(VERSIONS, "new_version", first.pk)

    third = newest(first)
    assert answer.redirect_chain[0][0].endswith(f"/{third.pk}/change/")
    assert third.contents.get(channel=Channel.SMS).parts == {
        "text": "Hello {{ name }}, your order is on its way."
    }


@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER])
def test_who_is_no_author_begins_nothing(tenant, first, role):
    console_of(tenant, role).act(VERSIONS, "new_version", first.pk)

    assert newest(first) == first
