"""The way out of marketing: a link in each letter, and what opening it does."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings as platform_settings
from django.db import ProgrammingError, connection, transaction
from django.test import Client

from notifications.management.sample import TEMPLATES, SampleTemplate, publish
from preferences.links import BrokenLink, WayOut, read_way_out, unsubscribe_url
from preferences.models import ConsentEvent, NotificationPreferences
from providers.channels import Channel
from templates.approval import find_problems
from tenants.categories import Category
from tenants.models import Tenant
from tests.acme import Api, deliveries, provider_settings, query
from tests.factories.templates import DraftFactory, TemplateFactory
from tests.factories.tenants import TenantCategoryFactory, TenantFactory
from tests.stubs.smtp import SmtpStub

SITE = "https://notify.example"
SALE = TEMPLATES[2]
DELIVERY = UUID("019f0000-0000-7000-8000-000000000001")


@pytest.fixture(autouse=True)
def site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_settings, "PUBLIC_URL", SITE)


@pytest.fixture
def tenant(db: None) -> Tenant:
    return TenantFactory.create()


def link(tenant: Tenant, user_id: str = "usr_news") -> str:
    """Return the path that a letter to this person carries."""
    way_out = WayOut(
        tenant_id=tenant.pk,
        user_id=user_id,
        category="marketing",
        channel=Channel.EMAIL,
        delivery_id=DELIVERY,
    )
    return unsubscribe_url(way_out).removeprefix(SITE)


def one_click(path: str) -> Any:
    """Post as RFC 8058 has mail clients do it: no cookie, no token but the path's."""
    return Client().post(
        path,
        "List-Unsubscribe=One-Click",
        content_type="application/x-www-form-urlencoded",
    )


def choices(tenant: Tenant) -> dict[str, Any]:
    return dict(
        NotificationPreferences.objects.filter(tenant=tenant).values_list(
            "user_id", "category_choices"
        )
    )


def test_a_scanner_that_opens_the_link_changes_nothing(tenant: Tenant) -> None:
    """O-EML-4, bad input 99."""
    path = link(tenant)

    for _ in range(3):
        assert Client().get(path).status_code == 200
    assert Client().head(path).status_code == 200

    assert choices(tenant) == {}
    assert not ConsentEvent.objects.exists()


def test_one_click_opts_out_and_a_second_one_is_a_success_that_changes_nothing(
    tenant: Tenant,
) -> None:
    """O-EML-3, O-EML-4: nobody else is touched, however alike their address."""
    path = link(tenant)

    first, second = one_click(path), one_click(path)

    assert (first.status_code, second.status_code) == (200, 200)
    assert choices(tenant) == {"usr_news": {"marketing": {"email": False}}}
    stored = NotificationPreferences.objects.get(tenant=tenant)
    assert stored.version == 1
    (event,) = ConsentEvent.objects.all()
    assert (event.change, event.source) == ("withdrawn", "unsubscribe_link")
    assert (event.channel, event.category) == (Channel.EMAIL.value, "marketing")


def test_the_rest_of_what_was_chosen_stays(tenant: Tenant) -> None:
    NotificationPreferences.objects.create(
        tenant=tenant,
        user_id="usr_1",
        version=4,
        opt_outs=["sms"],
        category_choices={"marketing": {"push": True}, "news": {"email": True}},
    )

    one_click(link(tenant, "usr_1"))

    stored = NotificationPreferences.objects.get(tenant=tenant, user_id="usr_1")
    assert stored.version == 5
    assert stored.opt_outs == ["sms"]
    assert stored.category_choices == {
        "marketing": {"push": True, "email": False},
        "news": {"email": True},
    }


def test_a_link_tells_nobody_who_it_is_for(tenant: Tenant) -> None:
    """O-EML-3: no address, and so no plus of one, stands in a link."""
    assert re.fullmatch(r"/unsubscribe/[A-Za-z0-9_-]+", link(tenant))


def test_a_link_opens_for_its_own_tenant_and_purpose_alone(tenant: Tenant) -> None:
    """Bad input 99."""
    token = link(tenant).removeprefix("/unsubscribe/")
    stranger = link(TenantFactory.create()).removeprefix("/unsubscribe/")
    forged = [
        "",
        "x",
        "A" * 2_000,
        token[:-1],
        token[:40],
        token[:-1] + ("A" if token[-1] != "A" else "B"),
        stranger[:11] + token[11:],
        token + "=",
        "né",
    ]

    for each in forged:
        with pytest.raises(BrokenLink):
            read_way_out(each)
    for each in forged[1:4]:
        assert one_click(f"/unsubscribe/{each}").status_code == 404
    assert Client().get(f"/preferences/{token}").status_code == 404
    assert choices(tenant) == {}


def test_what_is_mandatory_is_not_offered(tenant: Tenant) -> None:
    TenantCategoryFactory.create(
        tenant=tenant, name="safety", base="transactional", legal_class="mandatory"
    )
    way_out = WayOut(
        tenant_id=tenant.pk,
        user_id="usr_1",
        category="safety",
        channel=Channel.EMAIL,
        delivery_id=DELIVERY,
    )

    page = Client().get(unsubscribe_url(way_out).removeprefix(SITE)).content.decode()

    assert "cannot be switched off here" in page
    assert "<button" not in page


@pytest.mark.parametrize(
    "statement",
    ["UPDATE consent_event SET change = 'given'", "DELETE FROM consent_event"],
)
def test_the_ledger_can_be_added_to_and_not_changed(
    tenant: Tenant, statement: str
) -> None:
    one_click(link(tenant))

    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_marketing_letters_carry_the_way_out_and_others_do_not(
    api: Api, acme: Tenant, consume: Any, settings: Any
) -> None:
    """O-EML-4: the header is good for one click, and folded by nobody."""
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "email": "smtp"}
    with SmtpStub() as stub:
        smtp = {
            "BACKEND": "providers.email.smtp.SmtpAdapter",
            "OPTIONS": {"url": stub.url, "sender": "no-reply@acme.example"},
        }
        with provider_settings(smtp=smtp):
            api.accept(
                idempotency_key="sale",
                template={"name": SALE.name},
                variables=SALE.variables,
            )
            api.accept(idempotency_key="invoice")
            consume()
        letters = {mail.parsed["Subject"]: mail for mail in stub.wait_for_mail(2)}

    sale = letters.pop("Giảm 20 % tuần này").parsed
    (invoice,) = letters.values()
    assert sale["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert invoice.parsed["List-Unsubscribe"] is None
    assert invoice.parsed["List-Unsubscribe-Post"] is None
    way_out = sale["List-Unsubscribe"].strip("<>")
    assert way_out.startswith(f"{SITE}/unsubscribe/")

    assert one_click(way_out.removeprefix(SITE)).status_code == 200

    assert choices(acme) == {"usr_an": {"marketing": {"email": False}}}


def test_after_one_click_the_next_one_is_not_sent(
    api: Api, acme: Tenant, consume: Any
) -> None:
    """O-TIM-3: what was accepted before the click, and waits, neither."""
    body = {"template": {"name": SALE.name}, "variables": SALE.variables}
    waiting = api.accept(idempotency_key="before", **body)
    one_click(link(acme, "usr_an"))

    later = api.submit(idempotency_key="after", **body)
    consume()

    assert later.json()["decisions"][0]["rule"] == "category_choice"
    assert [row["status"] for row in deliveries(waiting)] == ["suppressed"]
    assert query("SELECT 1 FROM sandbox_message") == []


LETTER = SampleTemplate(
    name="letter",
    category=Category.MARKETING,
    variables={"name": "An"},
    contents={
        Channel.EMAIL: {
            "en": {
                "subject": "News",
                "html": '<p>{{ name }}</p><a href="{{ unsubscribe_url }}">Out</a>',
            }
        }
    },
)


def test_the_body_shows_the_way_out_that_the_header_has(
    api, acme, consume, settings
) -> None:
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "email": "smtp"}
    publish(acme, LETTER)
    with SmtpStub() as stub:
        smtp = {
            "BACKEND": "providers.email.smtp.SmtpAdapter",
            "OPTIONS": {"url": stub.url, "sender": "no-reply@acme.example"},
        }
        with provider_settings(smtp=smtp):
            api.accept(template={"name": LETTER.name}, variables=LETTER.variables)
            consume()
        (mail,) = stub.wait_for_mail(1)

    header = str(mail.parsed["List-Unsubscribe"])
    bodies = [part.get_content() for part in mail.parsed.iter_parts()]
    text, html = (str(body) for body in bodies)
    assert header.startswith(f"<{SITE}/unsubscribe/")
    assert f'href="{header.strip("<>")}"' in unescape(html)
    assert header.strip("<>") in text


def test_only_marketing_by_mail_has_a_way_out_to_print(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def problems(category: str, channel: Channel, **parts: str) -> list[str]:
        template = TemplateFactory.create(tenant=tenant, category=category)
        version = DraftFactory.create(
            template=template, contents={channel: {"en": parts}}
        )
        contents = list(version.contents.all())
        return [problem.message for problem in find_problems(version, contents)]

    text = "{{ name }} {{ unsubscribe_url }}"
    letter = {"subject": "s", "text": text}

    assert problems("marketing", Channel.EMAIL, **letter) == []
    refusal = ["unsubscribe_url is for e-mail of class marketing"]
    assert problems("transactional", Channel.EMAIL, **letter) == refusal
    assert problems("marketing", Channel.SMS, text=text) == refusal
    monkeypatch.setattr(platform_settings, "PUBLIC_URL", "")
    assert problems("marketing", Channel.EMAIL, **letter) == [
        "unsubscribe_url needs the setting PUBLIC_URL"
    ]
