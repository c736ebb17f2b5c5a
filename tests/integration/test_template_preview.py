"""POST /v1/templates/{name}/preview: what a version would say."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from audit.models import AuditEvent
from providers.channels import Channel
from templates.publishing import retire
from tenants.models import Tenant
from tests.acme import Api
from tests.factories.templates import PARTS, ApprovedVersionFactory, DraftFactory
from tests.factories.tenants import TenantFactory, api_key, authorization
from tests.previews import approved, ask, codes, draft, only, previews

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def api(tenant: Tenant) -> Api:
    return Api(Client(), authorization(api_key(tenant, scopes=["templates:read"])))


def refused(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.content
    assert answer.json()["type"] == "/problems/invalid-request"
    return [error["pointer"] for error in answer.json()["errors"]]


def test_every_channel_is_shown_with_the_given_variables(tenant, api):
    approved(tenant)

    answer = ask(api, variables={"name": "Ann & Bo"})

    shown = {each["channel"]: each["parts"] for each in previews(answer)}
    assert list(shown) == ["email", "sms", "push", "in_app"]
    assert shown["sms"] == {"text": "Hello Ann & Bo, your order is on its way."}
    assert shown["email"]["html"].startswith("<p>Hello Ann &amp; Bo,</p>")
    body = answer.json()
    assert (body["template"], body["version"], body["status"]) == (
        "welcome",
        1,
        "approved",
    )


def test_the_sample_fills_in_where_no_variables_are_given(tenant, api):
    approved(tenant, sample={"name": "Sam"})

    preview = only(ask(api, channels=["push"]))

    assert preview["parts"]["title"] == "Hello Sam"


def test_a_draft_is_shown_by_its_number_and_never_without(tenant, api):
    version = draft(tenant, sample={"name": "Ann"})

    assert refused(ask(api)) == ["/version"]
    assert ask(api, version=version.number).json()["status"] == "draft"


def test_the_latest_approved_version_is_shown_where_none_is_named(tenant, api):
    first = approved(tenant, sample={"name": "Ann"})
    ApprovedVersionFactory.create(template=first.template, sample={"name": "Bo"})
    DraftFactory.create(template=first.template)

    assert ask(api).json()["version"] == 2
    retire(version=first, actor="staff:an")
    assert ask(api, version=1).json()["status"] == "retired"


def test_nothing_is_stored_by_showing(tenant, api):
    approved(tenant)
    before = AuditEvent.objects.count()

    previews(ask(api, variables={"name": "Ann"}))

    assert AuditEvent.objects.count() == before


def test_the_nearest_text_is_shown_and_a_language_without_one_is_told(tenant, api):
    hello = {"en": {"text": "Hello"}, "pt": {"text": "Olá"}}
    approved(tenant, contents={Channel.SMS: hello}, sample={"name": "Ann"})

    brazilian, french = previews(ask(api, locales=["pt_br", "fr"]))

    assert (brazilian["asked_locale"], brazilian["locale"]) == ("pt-BR", "pt")
    assert codes(brazilian) == []
    assert (french["locale"], french["parts"]) == ("en", {"text": "Hello"})
    assert codes(french) == ["locale_missing"]


def test_a_channel_that_lacks_a_locale_of_the_others_is_told(tenant, api):
    push = {"en": PARTS[Channel.PUSH], "vi": PARTS[Channel.PUSH]}
    contents = {Channel.PUSH: push, Channel.SMS: {"en": PARTS[Channel.SMS]}}
    approved(tenant, contents=contents, sample={"name": "Ann"})

    shown = previews(ask(api))

    told = {(each["channel"], each["asked_locale"]): codes(each) for each in shown}
    assert told == {
        ("sms", "en"): [],
        ("sms", "vi"): ["locale_missing"],
        ("push", "en"): [],
        ("push", "vi"): [],
    }


def test_dates_are_written_in_the_tenants_time_zone(api, tenant):
    Tenant.objects.filter(pk=tenant.pk).update(time_zone="Asia/Ho_Chi_Minh")
    contents = {Channel.SMS: {"en": {"text": "At {{ name|time }}"}}}
    approved(tenant, contents=contents)

    preview = only(ask(api, variables={"name": "2026-08-19T17:30:00Z"}))

    assert preview["parts"]["text"].startswith("At 12:30")


def test_a_fault_of_a_drafts_text_is_told_with_its_line(tenant, api):
    html = "<p>\nHello {{ name }},\nyou have {{ 1 + 1 }}</p>"
    contents = {
        Channel.EMAIL: {"en": {"subject": "Hi", "html": html}},
        Channel.SMS: {"en": {"text": "Hello {{ name }}, {{ nobody }}"}},
    }
    version = draft(tenant, contents=contents, sample={"name": "Ann"})

    answer = ask(api, version=version.number)

    email, sms = previews(answer)
    assert email["problem"]["where"] == "email/en/html, line 3"
    assert sms["problem"]["where"] == "sms/en/text, line 1"
    assert sms["problem"]["message"] == "prints a variable that is missing or null"
    problems = {each["where"]: each["message"] for each in answer.json()["problems"]}
    assert problems["email/en/html, line 3"] == email["problem"]["message"]
    assert problems["sms/en/text"] == "nobody is not in the schema"


def test_a_draft_is_shown_without_what_is_no_part_of_its_channel(tenant, api):
    parts = {"text": "Hello", "fax": "Hello", "title": 7}
    version = draft(tenant, contents={Channel.SMS: {"en": parts}}, sample={})
    version.schema = {"type": "object"}
    version.save()

    assert only(ask(api, version=version.number))["parts"] == {"text": "Hello"}


def test_a_draft_without_a_word_has_nothing_to_show(tenant, api):
    version = draft(tenant, contents={}, sample={"name": "Ann"})

    answer = ask(api, version=version.number)

    assert previews(answer) == []
    assert answer.json()["problems"] == [
        {"where": "contents", "message": "there are none"}
    ]


@pytest.mark.parametrize(
    ("variables", "pointers"),
    [
        ({}, ["/variables/name"]),
        ({"name": 7}, ["/variables/name"]),
        ({"name": "https://evil.com"}, ["/variables/name"]),
        ({"name": "Ann", "a/b": 1}, ["/variables/a~1b"]),
        ("Ann", ["/variables"]),
        (None, ["/variables/name"]),  # and there is no sample
    ],
)
def test_variables_are_judged_as_an_acceptance_does(tenant, api, variables, pointers):
    approved(tenant)

    assert refused(ask(api, variables=variables)) == pointers


def test_a_sample_that_does_not_fit_is_told_as_such(tenant, api):
    version = draft(tenant, sample={"name": 7})

    answer = ask(api, version=version.number)

    assert refused(answer) == ["/variables/name"]
    assert answer.json()["errors"][0]["detail"].endswith("in the version's sample")


def test_a_schema_that_is_none_is_told(tenant, api):
    version = draft(tenant, schema={"type": "array"})

    assert refused(ask(api, version=version.number)) == ["/version"]


@pytest.mark.parametrize(
    ("wish", "pointers"),
    [
        ({"version": 2}, ["/version"]),
        ({"version": 0}, ["/version"]),
        ({"version": "new"}, ["/version"]),
        ({"version": 2**31}, ["/version"]),
        ({"channels": ["sms", "fax"]}, ["/channels/1"]),
        ({"channels": []}, ["/channels"]),
        ({"channels": ["push", "in_app"]}, ["/channels/0", "/channels/1"]),
        ({"locale": "english!"}, ["/locale"]),
        ({"locales": ["en", "x" * 40]}, ["/locales/1"]),
        ({"locales": []}, ["/locales"]),
        ({"locales": ["en"] * 21}, ["/locales"]),
        ({"locale": "en", "locales": ["vi"]}, ["/locales"]),
        ({"recipient": "usr_an"}, ["/recipient"]),
    ],
)
def test_a_wish_that_cannot_be_had_names_the_field(tenant, api, wish, pointers):
    sms = {Channel.SMS: {"en": PARTS[Channel.SMS]}}
    approved(tenant, contents=sms, sample={"name": "Ann"})

    assert refused(ask(api, **wish)) == pointers


def test_more_locales_than_fit_an_answer_are_to_be_named(tenant, api):
    locales = ["en", *(f"{first}{second}" for first in "abcde" for second in "aeiou")]
    contents = {Channel.SMS: {each: {"text": "Hello"} for each in locales}}
    draft(tenant, contents=contents, sample={"name": "Ann"})

    assert refused(ask(api, version=1)) == ["/locales"]
    assert len(previews(ask(api, version=1, locales=locales[:20]))) == 20


@pytest.mark.parametrize("name", ["nobody", "WELCOME", "wel\x00come", "x" * 300])
def test_a_name_that_no_template_has_is_not_found(tenant, api, name):
    approved(tenant)

    assert ask(api, name).status_code == 404


def test_templates_of_others_are_not_found(api):
    approved(TenantFactory.create())

    assert ask(api).status_code == 404


def test_a_draft_of_mjml_is_shown_as_the_letter_that_it_will_be(tenant, api):
    source = (
        "<mjml><mj-body><mj-section><mj-column><mj-text>Hello {{ name }}</mj-text>"
        "</mj-column></mj-section></mj-body></mjml>"
    )
    contents = {Channel.EMAIL: {"en": {"subject": "Hi", "mjml": source}}}
    version = draft(tenant, contents=contents, sample={"name": "Ann & Bo"})

    parts = only(ask(api, version=version.number))["parts"]

    assert "Hello Ann &amp; Bo" in parts["html"]
    assert "Hello Ann & Bo" in parts["text"]
    assert "mj-text" not in parts["html"]
