"""E-mails stand in layouts of their tenant, as these were at approval."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from audit.models import AuditEvent
from providers.channels import Channel
from templates.copying import roll_back
from templates.grammar import TextRefused
from templates.layouts import save_layout
from templates.models import Layout, TemplateContent, TemplateVersion
from templates.publishing import ApprovalRefused, approve, send_back, submit
from tenants.models import Tenant
from tests.factories.templates import (
    LAYOUT,
    DraftFactory,
    LayoutFactory,
    TemplateFactory,
)
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.django_db

SECTION = (
    "<mj-section><mj-column>\n<mj-text>Hello {{ name }}</mj-text>"
    "</mj-column></mj-section>"
)


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


def draft_of(tenant: Tenant, **parts: str) -> TemplateVersion:
    parts = {"subject": "Hi", "mjml": SECTION, "layout": "brand", **parts}
    return DraftFactory.create(
        template=TemplateFactory.create(tenant=tenant),
        contents={Channel.EMAIL: {"en": parts}},
    )


def approved(tenant: Tenant, **parts: str) -> TemplateVersion:
    return approve(version=draft_of(tenant, **parts), actor="staff:an")


def problems(tenant: Tenant, **parts: str) -> list[str]:
    with pytest.raises(ApprovalRefused) as refused:
        approved(tenant, **parts)
    return [str(problem) for problem in refused.value.problems]


def text_of(version: TemplateVersion) -> Any:
    return TemplateContent.objects.get(version=version).sent_parts["text"]


def test_a_letter_stands_in_its_layout(tenant):
    LayoutFactory.create(tenant=tenant)

    version = approved(tenant)

    content = TemplateContent.objects.select_related("layout_version").get(
        version=version
    )
    assert content.sent_parts.keys() == {"subject", "html", "text"}
    assert content.sent_parts["text"] == "Hello {{ name }}\n\nAcme, Hanoi"
    assert content.parts["mjml"] == SECTION
    assert str(content.layout_version) == "brand 1"


def test_what_was_approved_keeps_its_layout(tenant):
    LayoutFactory.create(tenant=tenant)
    first = approved(tenant)

    LayoutFactory.create(tenant=tenant, mjml=LAYOUT.replace("Hanoi", "Huế"))

    assert text_of(first) == "Hello {{ name }}\n\nAcme, Hanoi"
    assert text_of(approved(tenant)) == "Hello {{ name }}\n\nAcme, Huế"
    earlier = approved(tenant, layout="brand 1")
    assert text_of(earlier) == text_of(first)
    assert earlier.content_hash == first.content_hash


def test_rolling_back_brings_the_layout_back_as_well(tenant):
    LayoutFactory.create(tenant=tenant)
    first = approved(tenant)
    LayoutFactory.create(tenant=tenant, mjml=LAYOUT.replace("Hanoi", "Huế"))

    second = roll_back(version=first, actor="staff:an")

    assert second.content_hash == first.content_hash


def test_the_trail_tells_which_layouts_were_saved_and_used(tenant):
    LayoutFactory.create(tenant=tenant)
    approved(tenant)

    saved, used = AuditEvent.objects.order_by("id")
    assert (saved.kind, saved.detail) == (
        "layout.saved",
        {"layout": "brand", "version": 1},
    )
    assert (used.kind, used.detail["layouts"]) == ("template.approved", ["brand 1"])


def test_letters_in_review_keep_the_layout_that_they_were_submitted_with(tenant):
    """Else an author could change what an approver has just looked at."""
    tenant.reviews_templates = True
    tenant.save()
    LayoutFactory.create(tenant=tenant)
    draft = draft_of(tenant)
    submit(version=draft, actor="staff:author")
    LayoutFactory.create(tenant=tenant, mjml=LAYOUT.replace("Hanoi", "Huế"))

    approve(version=draft, actor="staff:an")

    assert text_of(draft) == "Hello {{ name }}\n\nAcme, Hanoi"


def test_a_letter_sent_back_gets_the_newest_layout_when_it_is_submitted_again(tenant):
    LayoutFactory.create(tenant=tenant)
    draft = draft_of(tenant)
    submit(version=draft, actor="staff:author")
    send_back(version=draft, actor="staff:an")
    LayoutFactory.create(tenant=tenant, mjml=LAYOUT.replace("Hanoi", "Huế"))
    submit(version=draft, actor="staff:author")

    approve(version=draft, actor="staff:an")

    assert text_of(draft) == "Hello {{ name }}\n\nAcme, Huế"


@pytest.mark.parametrize("reference", ["other", "brand 2", "brand x", "brand 1 2"])
def test_a_layout_that_is_not_there_is_named(tenant, reference: str):
    LayoutFactory.create(tenant=tenant)

    assert problems(tenant, layout=reference) == [
        "email/en/layout: The tenant has no such layout."
    ]


def test_layouts_of_another_tenant_are_not_there(tenant):
    LayoutFactory.create()

    assert problems(tenant) == ["email/en/layout: The tenant has no such layout."]


def test_a_layout_goes_around_mjml_alone(tenant):
    LayoutFactory.create(tenant=tenant)
    draft = draft_of(tenant)
    TemplateContent.objects.update(
        parts={"subject": "Hi", "text": "Hello", "layout": "brand"}
    )

    with pytest.raises(ApprovalRefused, match="email/en/layout: goes around mjml"):
        approve(version=draft, actor="staff:an")


def test_variables_of_a_layout_are_the_letters(tenant):
    with_variable = LAYOUT.replace("Hanoi", "{{ town }}")
    LayoutFactory.create(tenant=tenant, mjml=with_variable)

    assert problems(tenant) == ["email/en/layout: town is not in the schema"]


def test_what_is_wrong_is_located_in_the_letter_or_in_its_layout(tenant):
    LayoutFactory.create(tenant=tenant)
    broken = SECTION.replace("<mj-text>Hello", "<mj-nothing/>\n<mj-text>Hello")
    unclosed = SECTION.replace("</mj-section>", "")

    assert problems(tenant, mjml=broken) == [
        "email/en/mjml, line 2: <mj-nothing> is no element"
    ]
    assert problems(tenant, mjml=unclosed) == [
        "email/en/layout, line 4: </mj-body> ends what was not begun"
    ]


@pytest.mark.parametrize(
    ("mjml", "line", "message"),
    [
        ("<mjml><mj-body></mj-body></mjml>", 1, "needs {{ content }} once"),
        (LAYOUT.replace("Acme", "{{ content }}"), 3, "needs {{ content }} once"),
        (
            LAYOUT.replace("Acme", "{{ content }}").replace("{{ content }}", "", 1),
            3,
            "no place in mj-text",
        ),
        (LAYOUT.replace("<mj-text>", "<mj-nothing/><mj-text>"), 3, "is no element"),
        (LAYOUT.replace("Acme", "{{ a.b() }}"), 3, "calls are not allowed"),
    ],
)
def test_a_layout_that_no_letter_could_stand_in_is_not_saved(
    tenant, mjml: str, line: int, message: str
):
    with pytest.raises(TextRefused, match=message) as refused:
        save_layout(tenant=tenant, name="brand", mjml=mjml, actor="staff:author")

    assert refused.value.line == line
    assert not Layout.objects.exists()


@pytest.mark.parametrize(
    "statement", ["UPDATE layout SET mjml = ''", "DELETE FROM layout"]
)
def test_layouts_are_final(tenant, statement: str):
    LayoutFactory.create(tenant=tenant)

    with (
        pytest.raises(IntegrityError),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
