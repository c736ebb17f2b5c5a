"""The preview of a version in the console: whoever may look may try."""

from __future__ import annotations

import json
from typing import Any

import pytest

from audit.models import AuditEvent
from providers.channels import Channel
from templates.models import TemplateVersion
from tenants.models import Tenant
from tests.factories.staff import Role, console_of
from tests.factories.tenants import TenantFactory
from tests.previews import approved, draft
from tests.texts import limit

pytestmark = pytest.mark.usefixtures("db")

CONTENTS = {
    Channel.SMS: {
        "en": {"text": "Hello {{ name }}, your order is on its way."},
        "vi": {"text": "Chào {{ name }}, đơn hàng đang đến."},
    },
    Channel.PUSH: {"en": {"title": "Hello {{ name }}", "body": "On its way."}},
}


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def version(tenant: Tenant) -> TemplateVersion:
    return draft(tenant, contents=CONTENTS, sample={"name": "Ann"})


def page_of(version: TemplateVersion) -> str:
    return f"templates/templateversion/{version.pk}/preview/"


def shown(page: Any) -> str:
    assert page.status_code == 200
    text: str = page.content.decode()
    return text


def test_the_page_begins_with_the_sample_in_the_default_locale(tenant, version):
    page = shown(console_of(tenant, Role.VIEWER).get(page_of(version)))

    assert "Hello Ann, your order is on its way." in page
    assert "1 segment · 36 units · basic alphabet" in page
    assert "Chào" not in page


def test_another_locale_and_other_variables_are_shown_and_not_kept(tenant, version):
    before = AuditEvent.objects.count()
    variables = json.dumps({"name": "Bình"})

    page = shown(
        console_of(tenant, Role.AUTHOR).post(
            page_of(version), locale="vi", variables=variables
        )
    )

    assert "<mark title=" in page
    assert "There is no text in vi; en stands in" in page
    version.refresh_from_db()
    assert version.sample == {"name": "Ann"}
    assert AuditEvent.objects.count() == before


def test_what_transliteration_replaces_is_shown(tenant, version):
    limit(tenant, transliterates_sms=True)

    page = shown(
        console_of(tenant, Role.VIEWER).post(
            page_of(version), locale="vi", variables='{"name": "Bình Đặng"}'
        )
    )

    assert "Chào Bình Dang, don hàng dang den." in page
    assert "Replaced: Đ → D · ặ → a · đ → d · ơ → o · ế → e" in page


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ("{", "Enter a valid JSON."),
        ("[]", "Write a JSON object."),
        ("null", "name is missing"),
        ("", "name is missing"),
        ('{"name": 7}', "name must be of type string"),
        ('{"name": "x.com"}', "name must not hold a link"),
    ],
)
def test_variables_that_do_not_fit_are_told_beside_them(
    tenant, version, variables, told
):
    page = console_of(tenant, Role.VIEWER).post(
        page_of(version), locale="en", variables=variables
    )

    assert told in page.context["form"].errors["variables"]
    assert "your order is on its way" not in shown(page)


def test_a_locale_that_the_version_has_not_is_no_choice(tenant, version):
    page = console_of(tenant, Role.VIEWER).post(
        page_of(version), locale="fr", variables='{"name": "Ann"}'
    )

    assert "locale" in page.context["form"].errors


def test_a_broken_text_is_told_with_its_place_beside_those_that_are_whole(tenant):
    contents = {**CONTENTS, Channel.SMS: {"en": {"text": "Hello\n{{ name"}}}
    version = draft(tenant, contents=contents, sample={"name": "Ann"})

    page = shown(console_of(tenant, Role.AUTHOR).get(page_of(version)))

    assert page.count("sms/en/text, line 2") == 2
    assert "Hello Ann" in page


def test_a_broken_schema_is_told_above_the_form(tenant):
    version = draft(tenant, contents=CONTENTS, schema={"type": "array"})

    page = console_of(tenant, Role.AUTHOR).get(page_of(version))

    assert page.context["form"].non_field_errors() == [
        "its schema/type: must be object"
    ]


def test_approved_versions_have_a_preview_and_the_version_leads_there(tenant):
    version = approved(tenant, sample={"name": "Ann"})
    console = console_of(tenant, Role.VIEWER)

    home = shown(console.get(f"templates/templateversion/{version.pk}/change/"))

    assert f'href="/admin/{page_of(version)}"' in home
    assert "Hello Ann, your order is on its way." in shown(
        console.get(page_of(version))
    )


def test_versions_of_others_have_no_preview(tenant, version):
    stranger = console_of(TenantFactory.create(), *Role.values)

    assert stranger.get(page_of(version)).status_code == 404
    assert stranger.post(page_of(version), locale="en").status_code == 404
    assert stranger.get("templates/templateversion/x/preview/").status_code == 404
