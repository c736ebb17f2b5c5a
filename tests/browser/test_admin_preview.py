"""An author tries a draft with a name of their own, and sees what it would cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from providers.channels import Channel
from tenants.models import StaffMembership
from tests.factories.staff import Role, StaffFactory
from tests.factories.templates import DraftFactory, TemplateFactory
from tests.factories.tenants import TenantFactory

# Where screenshots are kept for whoever wants to look at them.
SCREENSHOTS = os.environ.get("SCREENSHOTS")
OpenPage = Callable[..., Page]
SCRIPT = "<script>document.title = 'taken'</script><img src='https://evil.example/x'>"
CONTENTS = {
    Channel.EMAIL: {
        "en": {
            "subject": "Your order is on its way, {{ name }}",
            "html": "<h1 style='color: #7c3aed'>Hello {{ name }}</h1>"
            f"<p>Your order left our house this morning.</p>{SCRIPT}",
            "text": "Hello {{ name }},\nyour order left our house this morning.",
        }
    },
    Channel.SMS: {"en": {"text": "Hello {{ name }}, it is on its way – Acme"}},  # noqa: RUF001
    Channel.PUSH: {
        "en": {
            "title": "On its way",
            "body": "Hello {{ name }}, your order left our house.",
            "data": '{"order": {{ name }}}',
        }
    },
    Channel.IN_APP: {
        "en": {"title": "On its way", "body": "See where it is.", "link": "/orders/7"}
    },
}


@pytest.fixture
def preview_path(committed: None) -> str:
    tenant = TenantFactory.create()
    template = TemplateFactory.create(tenant=tenant, name="order_shipped")
    version = DraftFactory.create(
        template=template, contents=CONTENTS, sample={"name": "Ann"}
    )
    user = StaffFactory.create(username="author")
    StaffMembership.objects.create(user=user, tenant=tenant, role=Role.AUTHOR)
    return f"/admin/templates/templateversion/{version.pk}/preview/"


@pytest.fixture
def open_page(
    browser: Browser, live_server: Any, preview_path: str
) -> Iterator[OpenPage]:
    """Open the preview as its author; nothing may be fetched from elsewhere."""
    client = Client()
    client.force_login(User.objects.get(username="author"))
    session = client.cookies["sessionid"].value
    fetched: list[str] = []
    contexts = []

    def open_page(**options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        context.add_cookies(
            [{"name": "sessionid", "value": session, "url": live_server.url}]
        )
        context.route(
            "https://evil.example/**", lambda route: fetched.append(route.request.url)
        )
        page = context.new_page()
        page.goto(preview_path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert fetched == []


def keep(page: Page, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True)


def test_an_author_sees_messages_as_people_get_them(open_page: OpenPage) -> None:
    page = open_page(viewport={"width": 1400, "height": 1000})

    mail = page.frame_locator("iframe")
    expect(mail.get_by_role("heading", name="Hello Ann")).to_be_visible()
    expect(page.locator("mark")).to_have_text("–")  # noqa: RUF001
    expect(page.get_by_text("1 segment · 34 units · Unicode")).to_be_visible()
    keep(page, "preview")


def test_an_author_tries_other_variables_and_is_told_what_is_wrong(
    open_page: OpenPage,
) -> None:
    page = open_page(viewport={"width": 1400, "height": 1000}, color_scheme="dark")

    page.get_by_label("Variables").fill('{"name": 7}')
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("name must be of type string")).to_be_visible()
    page.get_by_label("Variables").fill('{"name": "Bo"}')
    page.get_by_role("button", name="Show").click()

    expect(page.get_by_text("Hello Bo, your order left our house.")).to_be_visible()
    keep(page, "preview_dark")


def test_markup_of_a_template_runs_nowhere_on_the_preview(open_page: OpenPage) -> None:
    """OWASP API8: neither scripts nor what they or a style would load."""
    page = open_page()

    expect(page.frame_locator("iframe").get_by_role("heading")).to_be_visible()
    assert "order_shipped v1" in page.title()


@pytest.mark.parametrize("width", [390, 1400])
def test_the_preview_is_for_everybody_and_fits(open_page: OpenPage, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 800})
    keep(page, f"preview_{width}")

    # Of the page's own: what the template's author wrote is theirs.
    found = Axe().run(page, context=".preview", options={"iframes": False})

    assert found.response["violations"] == []
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide
