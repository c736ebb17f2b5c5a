"""Previews tell how large a message is, and what that may do to it."""

from __future__ import annotations

import pytest
from django.test import Client

from providers.channels import Channel
from tenants.models import Tenant
from tests.acme import Api
from tests.factories.templates import PARTS, ApprovedVersionFactory, DraftFactory
from tests.factories.tenants import TenantFactory, api_key, authorization
from tests.previews import approved, ask, codes, only
from tests.texts import limit

pytestmark = pytest.mark.usefixtures("db")

FRENCH = (
    "Votre code d’accès est 482913. Il expire dans 5 minutes."  # noqa: RUF001
    " Ne le communiquez à personne."
)
LINES = {
    "type": "object",
    "properties": {"lines": {"type": "array", "items": {"type": "string"}}},
    "required": ["lines"],
}


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def api(tenant: Tenant) -> Api:
    return Api(Client(), authorization(api_key(tenant, scopes=["templates:read"])))


def test_what_forces_an_sms_into_unicode_is_shown_with_its_place(tenant, api):
    """O-SMS-1"""
    approved(tenant, contents={Channel.SMS: {"en": {"text": FRENCH}}})

    preview = only(ask(api, variables={"name": "Ann"}))

    assert preview["parts"]["text"] == FRENCH
    assert preview["sms"] == {
        "alphabet": "ucs2",
        "units": 86,
        "segments": 2,
        "forcing": [{"position": 12, "character": "’"}],  # noqa: RUF001
    }


def test_a_character_that_doubles_the_bill_is_told(tenant, api):
    """O-SMS-1"""
    approved(tenant, contents={Channel.SMS: {"en": {"text": FRENCH}}})

    preview = only(ask(api, variables={"name": "Ann"}))

    assert preview["warnings"] == [
        {
            "code": "unicode_costs_more",
            "message": "2 segments, but 1 without ’",  # noqa: RUF001
        }
    ]


def test_what_transliteration_replaces_is_shown_beside_what_is_sent(tenant, api):
    """O-SMS-1: never silently."""
    limit(tenant, transliterates_sms=True)
    approved(tenant, contents={Channel.SMS: {"en": {"text": FRENCH}}})

    preview = only(ask(api, variables={"name": "Ann"}))

    assert preview["parts"]["text"] == FRENCH.replace("’", "'")  # noqa: RUF001
    assert preview["sms"] == {
        "alphabet": "gsm7",
        "units": 86,
        "segments": 1,
        "forcing": [],
    }
    assert preview["replacements"] == [
        {"position": 12, "character": "’", "replacement": "'"}  # noqa: RUF001
    ]
    assert codes(preview) == []


def test_html_beyond_what_gmail_shows_is_told_by_its_bytes(tenant, api):
    """O-EML-6: by bytes and not by characters; nothing is cut."""
    row = '<tr><td style="padding: 8px; color: #444">{{ line }}</td></tr>'
    html = "<table>{% for line in lines %}" + row + "{% endfor %}</table>"
    filling = "Cà phê sữa đá và bánh mì thịt nướng. " * 2
    parts = {"subject": "Digest", "html": html.replace("{{", filling * 2 + "{{")}
    approved(tenant, contents={Channel.EMAIL: {"en": parts}}, schema=LINES)

    preview = only(ask(api, variables={"lines": ["Đơn hàng của bạn"] * 400}))

    html = preview["parts"]["html"]
    assert len(html) < 102_000 < preview["email"]["html_bytes"] == len(html.encode())
    assert preview["email"]["bytes"] > preview["email"]["html_bytes"]
    assert codes(preview) == ["html_clipped"]
    assert html.endswith("</table>")


def test_html_beyond_the_hard_limit_is_a_problem_with_its_place(tenant, api):
    """O-EML-6"""
    html = "{% for line in lines %}" + "<br>" * 150 + "{{ line }}{% endfor %}"
    parts = {"subject": "Digest", "html": html}
    approved(tenant, contents={Channel.EMAIL: {"en": parts}}, schema=LINES)

    preview = only(ask(api, variables={"lines": ["x"] * 400}))

    assert preview["parts"] == {}
    assert preview["problem"] == {
        "where": "email/en/html",
        "message": "comes out longer than it may be",
    }


def test_a_push_payload_is_counted_and_refused_by_its_bytes(tenant, api):
    """Bad input 52."""
    first = approved(tenant, contents={Channel.PUSH: {"en": PARTS[Channel.PUSH]}})
    two_bytes = {Channel.PUSH: {"en": {"title": "é" * 200, "body": "é" * 2_000}}}
    reserved = {"title": "Hi", "body": "Ho", "data": '{"gcm.x": "1"}'}
    ApprovedVersionFactory.create(template=first.template, contents=two_bytes)
    third = {Channel.PUSH: {"en": reserved}}
    DraftFactory.create(template=first.template, contents=third)

    small, large, lost = (
        only(ask(api, version=number, variables={"name": "Ann"}))
        for number in (1, 2, 3)
    )

    assert (codes(small), codes(large), codes(lost)) == (
        [],
        ["push_refused"],
        ["push_refused"],
    )
    assert small["push"]["bytes"] < 4_096 < large["push"]["bytes"]
    assert lost["push"]["bytes"] is None
    assert lost["warnings"][0]["message"] == "will not be sent: reserved data key"


@pytest.mark.parametrize("subject", ["{{ name }}", "…", "— {{ name }} —"])
def test_a_subject_in_which_nothing_can_be_read_is_told(tenant, api, subject):
    parts = {"subject": subject, "text": "Hello"}
    approved(tenant, contents={Channel.EMAIL: {"en": parts}})

    preview = only(ask(api, variables={"name": "\u200b."}))

    assert codes(preview) == ["subject_looks_empty"]


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("a" * 1_601, "sms/en/text", "comes out longer than it may be"),
        ("{{ name }}", "sms/en", "comes out blank"),
    ],
)
def test_a_text_message_that_cannot_be_sent_is_a_problem(
    tenant, api, text, where, message
):
    """Bad inputs 49, 50."""
    approved(tenant, contents={Channel.SMS: {"en": {"text": text}}})

    preview = only(ask(api, variables={"name": " "}))

    assert preview["problem"] == {"where": where, "message": message}
    assert preview["sms"] is None


def test_a_text_message_of_many_segments_is_told(tenant, api):
    contents = {Channel.SMS: {"en": {"text": "long " * 100 + "{{ name }}"}}}
    approved(tenant, contents=contents)

    preview = only(ask(api, variables={"name": "Ann"}))

    assert preview["sms"]["segments"] == 4
    assert codes(preview) == ["many_segments"]
