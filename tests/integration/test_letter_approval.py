"""E-mails are made at approval, and sent as they were made then."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from providers.channels import Channel
from templates.catalog import find_version
from templates.models import TemplateContent, TemplateVersion
from templates.publishing import ApprovalRefused, approve
from templates.rendering import render
from tests.factories.templates import ApprovedVersionFactory, DraftFactory

pytestmark = pytest.mark.django_db

MJML = """<mjml><mj-body><mj-section><mj-column>
<mj-text>Hello {{ name }}</mj-text>
</mj-column></mj-section></mj-body></mjml>"""


def letter(**parts: str) -> dict[Channel, Any]:
    return {Channel.EMAIL: {"en": {"subject": "Hi", **parts}}}


def problems(**parts: str) -> list[str]:
    with pytest.raises(ApprovalRefused) as refused:
        approve(version=DraftFactory.create(contents=letter(**parts)), actor="staff:an")
    return [str(problem) for problem in refused.value.problems]


def content_of(version: TemplateVersion) -> TemplateContent:
    return TemplateContent.objects.get(version_id=version.pk)


def test_mjml_is_compiled_when_it_is_approved_and_its_source_kept():
    draft = DraftFactory.create(contents=letter(mjml=MJML))
    assert content_of(draft).compiled is None

    approve(version=draft, actor="staff:an")

    content = content_of(draft)
    assert content.parts == {"subject": "Hi", "mjml": MJML}
    assert content.compiled is not None
    assert content.compiled.keys() == {"subject", "html", "text"}
    assert content.compiled["text"] == "Hello {{ name }}"


def test_what_was_made_is_what_is_rendered():
    version = ApprovedVersionFactory.create(contents=letter(mjml=MJML))

    pinned = find_version(
        tenant_id=version.template.tenant_id, name=version.template.name, number=1
    )
    parts = render(
        pinned, channel=Channel.EMAIL, locale="en", variables={"name": "A & B"}
    ).parts

    assert parts["text"] == "Hello A & B"
    assert "Hello A &amp; B</div>" in parts["html"]
    assert "mjml" not in parts


def test_the_hash_is_of_what_was_made():
    first = ApprovedVersionFactory.create(contents=letter(mjml=MJML))
    made = content_of(first).compiled
    assert made is not None

    spaced = ApprovedVersionFactory.create(
        contents=letter(mjml=MJML.replace("<mj-column>", "<mj-column ><!-- same -->"))
    )
    written = ApprovedVersionFactory.create(contents={Channel.EMAIL: {"en": made}})

    assert first.content_hash == written.content_hash
    assert content_of(written).compiled is None
    assert spaced.content_hash != first.content_hash


def test_what_needs_no_making_is_sent_as_it_was_written():
    version = ApprovedVersionFactory.create()

    assert set(version.contents.values_list("compiled", flat=True)) == {None}


def test_html_and_mjml_exclude_each_other():
    assert problems(html="<p>Hi</p>", mjml=MJML) == [
        "email/en: takes not both html and mjml"
    ]


def test_what_stands_against_a_letter_is_said_with_its_line():
    broken = MJML.replace("</mj-text>", "</mj-text>\n<mj-include path='x' />")

    assert problems(mjml=broken) == [
        "email/en/mjml, line 3: <mj-include> is no element"
    ]


def test_a_variable_of_mjml_must_be_in_the_schema():
    assert problems(mjml=MJML.replace("name", "nme")) == [
        "email/en/mjml: nme is not in the schema"
    ]


def test_a_letter_that_grew_too_long_is_refused():
    texts = "<mj-text>Hello</mj-text>" * 1_000
    long = MJML.replace("<mj-text>Hello {{ name }}</mj-text>", texts)

    assert problems(mjml=long) == [
        "email/en/mjml, line 1: longer than 100000 characters"
    ]


@pytest.mark.parametrize("value", ["NULL", """'{"subject": "Send money"}'"""])
def test_what_was_made_is_as_final_as_what_was_written(value: str):
    ApprovedVersionFactory.create(contents=letter(mjml=MJML))

    with (
        pytest.raises(IntegrityError),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"UPDATE template_content SET compiled = {value}")
