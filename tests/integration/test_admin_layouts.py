"""Layouts in the console: authors save them, each time as another version."""

from __future__ import annotations

import pytest

from providers.channels import Channel
from templates.models import Layout
from tests.factories.staff import Role, console_of
from tests.factories.templates import (
    LAYOUT,
    DraftFactory,
    LayoutFactory,
    TemplateFactory,
)
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

LAYOUTS = "templates/layout/"


@pytest.fixture
def tenant():
    return TenantFactory.create()


def test_an_author_saves_a_layout_and_its_next_version(tenant):
    console = console_of(tenant, Role.AUTHOR)
    for text in (LAYOUT, LAYOUT.replace("\n", "\r\n")):
        console.post(f"{LAYOUTS}add/", tenant=tenant.pk, name="brand", mjml=text)

    saved = Layout.objects.order_by("number")
    assert [(row.name, row.number, row.mjml) for row in saved] == [
        ("brand", 1, LAYOUT),
        ("brand", 2, LAYOUT),
    ]
    assert {row.edited_by for row in saved} == {f"staff:{console.user.username}"}


def test_an_author_puts_an_email_into_a_layout(tenant):
    LayoutFactory.create(tenant=tenant)
    draft = DraftFactory.create(template=TemplateFactory.create(tenant=tenant))
    content = draft.contents.get(channel=Channel.EMAIL)
    console = console_of(tenant, Role.AUTHOR)
    section = "<mj-section><mj-column><mj-text>Hello</mj-text></mj-column></mj-section>"

    console.post(
        f"templates/templatecontent/{content.pk}/change/",
        subject="Hi",
        mjml=section,
        layout="brand",
    )

    page = console.get(f"templates/templateversion/{draft.pk}/change/")
    assert "Acme, Hanoi&lt;/div&gt;" in page.content.decode()


def test_a_new_version_begins_as_the_chosen_one(tenant):
    layout = LayoutFactory.create(tenant=tenant)

    page = console_of(tenant, Role.AUTHOR).act(LAYOUTS, "new_version", layout.pk)

    form = page.context["adminform"].form
    assert form.initial["name"] == "brand"
    assert form.initial["mjml"] == LAYOUT


def test_a_new_version_begins_as_nobody_elses(tenant):
    theirs = LayoutFactory.create()
    console = console_of(tenant, Role.AUTHOR)

    for chosen in (str(theirs.pk), "x", "9" * 30):
        page = console.get(f"{LAYOUTS}add/", **{"from": chosen})
        assert "mjml" not in page.context["adminform"].form.initial


def test_what_no_letter_could_stand_in_is_refused_with_its_line(tenant):
    page = console_of(tenant, Role.AUTHOR).post(
        f"{LAYOUTS}add/",
        tenant=tenant.pk,
        name="brand",
        mjml=LAYOUT.replace("<mj-text>", "<mj-nothing/><mj-text>"),
    )

    assert "Line 3: &lt;mj-nothing&gt; is no element" in page.content.decode()
    assert not Layout.objects.exists()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.APPROVER])
def test_who_is_no_author_saves_none(tenant, role):
    console = console_of(tenant, role)

    answer = console.post(f"{LAYOUTS}add/", tenant=tenant.pk, name="brand", mjml=LAYOUT)

    assert answer.status_code == 403
    assert not Layout.objects.exists()


def test_a_layout_is_looked_at_and_never_changed(tenant):
    layout = LayoutFactory.create(tenant=tenant)
    console = console_of(tenant, Role.AUTHOR)
    page = f"{LAYOUTS}{layout.pk}/change/"

    assert "Acme, Hanoi" in console.get(page).content.decode()
    assert console.post(page, mjml="x").status_code == 403
    assert console.post(f"{LAYOUTS}{layout.pk}/delete/").status_code == 403
