from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from audit.models import AuditEvent
from providers.channels import Channel
from templates.catalog import find_version
from templates.locales import MalformedLocale
from templates.models import TemplateContent, TemplateVersion
from templates.publishing import (
    ApprovalRefused,
    NotADraft,
    NotApproved,
    add_content,
    approve,
    create_version,
    retire,
)
from tests.factories.templates import (
    SCHEMA,
    ApprovedVersionFactory,
    DraftFactory,
    TemplateFactory,
)
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.django_db

SMS = {"text": "Hello {{ name }}"}


def problems(**draft: Any) -> set[str]:
    with pytest.raises(ApprovalRefused) as refused:
        approve(version=DraftFactory.create(**draft), actor="staff:an")
    return {str(problem) for problem in refused.value.problems}


def test_versions_are_numbered_within_their_template() -> None:
    first, other = TemplateFactory.create(), TemplateFactory.create()

    numbers = [
        create_version(template=template, schema=SCHEMA, actor="staff:author").number
        for template in (first, first, other)
    ]

    assert numbers == [1, 2, 1]


def test_draft_takes_the_locale_of_its_tenant() -> None:
    template = TemplateFactory.create(
        tenant=TenantFactory.create(default_locale="pt-BR")
    )

    assert (
        create_version(
            template=template, schema=SCHEMA, actor="staff:author"
        ).default_locale
        == "pt-BR"
    )


def test_content_of_a_draft_is_replaced_under_its_canonical_locale() -> None:
    draft = DraftFactory.create(contents={})
    add_content(
        version=draft,
        channel=Channel.SMS,
        locale="pt_br",
        parts={"text": "a"},
        actor="staff:author",
    )
    add_content(
        version=draft,
        channel=Channel.SMS,
        locale="pt-BR",
        parts={"text": "b"},
        actor="staff:author",
    )

    content = TemplateContent.objects.get(version=draft)
    assert (content.locale, content.parts) == ("pt-BR", {"text": "b"})


def test_content_in_no_locale_is_refused() -> None:
    """Bad input 54."""
    with pytest.raises(MalformedLocale):
        add_content(
            version=DraftFactory.create(),
            channel=Channel.SMS,
            locale="../../x",
            parts=SMS,
            actor="staff:author",
        )


def test_approved_version_has_a_hash_a_time_and_an_approver() -> None:
    version = approve(version=DraftFactory.create(), actor="staff:an")

    stored = TemplateVersion.objects.get(pk=version.pk)
    assert stored.status == version.status == "approved"
    assert stored.content_hash == version.content_hash
    assert len(bytes(stored.content_hash or b"")) == 32
    assert stored.approved_at is not None
    assert stored.approved_by == "staff:an"


def test_approval_and_retirement_are_audited() -> None:
    version = ApprovedVersionFactory.create()
    retire(version=version, actor="staff:binh")

    events = AuditEvent.objects.order_by("id").filter(kind__startswith="template.")
    about = {"template": version.template.name, "version": 1}
    assert list(events.values_list("kind", "actor", "tenant_id", "detail")) == [
        (
            "template.approved",
            "staff:an",
            version.template.tenant_id,
            {
                **about,
                "hash": bytes(version.content_hash or b"").hex(),
                "edited_by": "staff:author",
                "layouts": [],
            },
        ),
        ("template.retired", "staff:binh", version.template.tenant_id, about),
    ]


def test_hash_follows_what_is_rendered_and_nothing_else() -> None:
    def content_hash(**draft: Any) -> bytes:
        return bytes(ApprovedVersionFactory.create(**draft).content_hash or b"")

    contents = {Channel.SMS: {"en": SMS}}
    hashes = [
        content_hash(contents=contents),
        content_hash(contents=contents, sample={"name": "An"}),
        content_hash(contents={Channel.SMS: {"en": {"text": "Hi {{ name }}"}}}),
        content_hash(contents={Channel.SMS: {"en": SMS, "vi": SMS}}),
        content_hash(contents={Channel.SMS: {"vi": SMS}}, default_locale="vi"),
        content_hash(contents=contents, schema={**SCHEMA, "required": []}),
    ]

    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 5


def test_version_without_contents_is_refused() -> None:
    assert problems(contents={}) == {"contents: there are none"}


def test_channel_without_the_default_locale_is_refused() -> None:
    """O-TPL-2."""
    contents = {Channel.SMS: {"en": SMS}, Channel.IN_APP: {"vi": {}}}

    assert problems(contents=contents) == {
        "in_app/en: the default locale is missing",
        "in_app/vi: needs body, title",
    }


def test_incomplete_locale_and_wrong_parts_are_refused() -> None:
    """O-TPL-2: `fr` has a body but no subject."""
    contents = {
        Channel.EMAIL: {
            "en": {"subject": "Hi", "text": "There"},
            "fr": {"text": "Corps"},
            "vi": {"subject": "Chào", "html": " "},
        },
        Channel.SMS: {"en": {"text": "Hi", "subject": "Hi"}},
    }

    assert problems(contents=contents) == {
        "email/fr: needs subject, html or mjml or text",
        "email/vi: needs subject, html or mjml or text",
        "email/vi/html: must be a text, not blank",
        "sms/en/subject: no part of this channel",
    }


def test_content_under_no_canonical_locale_is_refused() -> None:
    draft = DraftFactory.create()
    TemplateContent.objects.create(
        version=draft, channel=Channel.SMS, locale="pt_br", parts={"text": "Hi"}
    )

    with pytest.raises(ApprovalRefused, match="sms/pt_br: not a language tag"):
        approve(version=draft, actor="staff:an")


def test_each_broken_text_is_named_with_its_line() -> None:
    """Bad input 43, O-TPL-5."""
    contents = {
        Channel.EMAIL: {
            "en": {
                "subject": "{{ name|safe }}",
                "text": "Hello\n{% if name %}",
                "html": "\n\n{% include 'other' %}",
            }
        }
    }

    where = {problem.split(":")[0] for problem in problems(contents=contents)}

    assert where == {
        "email/en/subject, line 1",
        "email/en/text, line 2",
        "email/en/html, line 3",
    }


def test_variables_that_the_schema_does_not_declare_are_named() -> None:
    schema = {
        "properties": {
            "name": {"type": "string"},
            "order": {"properties": {"id": {"type": "string"}}},
            "open": {"type": "object"},
            "lines": {"items": {"properties": {"sku": {"type": "string"}}}},
        }
    }
    text = (
        "{{ name }}{{ nme }}{{ order.id }}{{ order.idd }}{{ open.anything.at.all }}"
        "{% for line in lines %}{{ line.sku }}{{ loop.index }}{% endfor %}{{ range }}"
    )

    found = problems(schema=schema, contents={Channel.SMS: {"en": {"text": text}}})

    assert found == {
        "sms/en/text: nme is not in the schema",
        "sms/en/text: order.idd is not in the schema",
        "sms/en/text: range is not in the schema",
    }


def test_broken_schema_is_located() -> None:
    schema = {"properties": {"name": {"type": "strin"}}}

    (problem,) = problems(schema=schema)

    assert problem.startswith("schema/properties/name/type: ")


def test_sample_that_does_not_fit_is_located() -> None:
    assert problems(sample={"nme": "An"}) == {
        "sample/name: is missing",
        "sample/nme: is not a variable of this template",
    }


def test_everything_must_render_with_the_sample() -> None:
    """O-TPL-5."""
    bomb = "{% for a in name|split('') %}" * 9 + "a" + "{% endfor %}" * 9
    contents = {Channel.SMS: {"en": SMS, "vi": {"text": bomb}}}

    assert problems(sample={"name": "a" * 99}, contents=contents) == {
        "sms/vi: out_of_fuel in text, line 1 with the sample"
    }


def test_variable_that_may_be_left_out_must_be_asked_for() -> None:
    """O-TPL-1."""
    schema = {
        "properties": {
            "name": {"type": "string"},
            "nick": {"type": "string"},
            "greeting": {"type": "string", "default": "Hello"},
        },
        "required": ["name", "greeting"],
    }
    sample = {"name": "An", "nick": "A", "greeting": "Hi"}
    careless = {Channel.SMS: {"en": {"text": "{{ greeting }} {{ nick }}"}}}
    careful = {Channel.SMS: {"en": {"text": "{{ greeting }} {{ nick|default(name) }}"}}}

    assert problems(schema=schema, sample=sample, contents=careless) == {
        "sms/en: undefined_variable in text, line 1 with the required variables only"
    }
    ApprovedVersionFactory.create(schema=schema, sample=sample, contents=careful)


def test_refused_version_stays_a_draft() -> None:
    draft = DraftFactory.create(contents={})

    with pytest.raises(ApprovalRefused):
        approve(version=draft, actor="staff:an")

    draft.refresh_from_db()
    assert (draft.status, draft.content_hash) == ("draft", None)


def test_only_a_draft_is_changed_or_approved_and_only_an_approved_one_retired() -> None:
    draft, approved = DraftFactory.create(), ApprovedVersionFactory.create()
    retired = retire(version=ApprovedVersionFactory.create(), actor="staff:an")

    for final in (approved, retired):
        with pytest.raises(NotADraft):
            add_content(
                version=final,
                channel=Channel.SMS,
                locale="vi",
                parts=SMS,
                actor="staff:author",
            )
        with pytest.raises(NotADraft):
            approve(version=final, actor="staff:an")
    for other in (draft, retired):
        with pytest.raises(NotApproved):
            retire(version=other, actor="staff:an")


@pytest.mark.parametrize("name", ["", "Order", "-a", "a b", "a/b", "é", "a\n"])
def test_name_of_a_template_is_a_label(name: str) -> None:
    tenant = TenantFactory.create()

    with pytest.raises(IntegrityError), transaction.atomic():
        TemplateFactory.create(tenant=tenant, name=name)


def test_approved_version_is_found_at_once() -> None:
    version = ApprovedVersionFactory.create()

    found = find_version(
        tenant_id=version.template.tenant_id, name=version.template.name, number=1
    )

    assert found.content_hash == version.content_hash


def test_a_plural_without_the_forms_of_its_language_is_refused() -> None:
    """O-TPL-3"""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    text = '{{ n }}\n{{ n|plural(one="письмо", other="письма") }}'
    contents = {Channel.SMS: {"ru": {"text": text}, "en": {"text": text}}}

    assert problems(schema=schema, contents=contents) == {
        "sms/ru/text, line 2: the plural lacks forms of this language: few, many"
    }


def test_what_a_filter_cannot_write_of_the_sample_is_refused() -> None:
    """O-TPL-4"""
    schema = {
        "type": "object",
        "properties": {"sum": {"type": "number"}},
        "required": ["sum"],
    }
    contents = {Channel.SMS: {"en": {"text": "{{ sum|currency('USD') }}"}}}

    assert problems(schema=schema, contents=contents, sample={"sum": 12.5}) == {
        "sms/en: invalid_value in text with the sample"
    }
