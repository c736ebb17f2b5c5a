"""The ways out, in a real browser: by keyboard, in both languages, for everybody."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings as platform_settings
from playwright.sync_api import Browser, Page, expect

from foundation.database_clock import database_now
from preferences.links import WayOut, preference_path, unsubscribe_url
from preferences.models import NotificationPreferences
from providers.channels import Channel
from tenants.models import Tenant
from tests.factories.tenants import TenantCategoryFactory, TenantFactory

OpenPage = Callable[..., Page]
SITE = "https://notify.example"
# Where screenshots are kept for whoever wants to look at them.
SCREENSHOTS = os.environ.get("SCREENSHOTS")


@pytest.fixture
def tenant(committed: None, monkeypatch: pytest.MonkeyPatch) -> Tenant:
    monkeypatch.setattr(platform_settings, "PUBLIC_URL", SITE)
    tenant = TenantFactory.create(name="Acme Coffee")
    TenantCategoryFactory.create(tenant=tenant, name="weekly_tips", label="Weekly tips")
    return tenant


@pytest.fixture
def open_page(browser: Browser, live_server: Any) -> Generator[OpenPage]:
    """Open a path; nothing may be refused, thrown or logged meanwhile."""
    contexts, complaints = [], []

    def open_page(path: str, **options: Any) -> Page:
        context = browser.new_context(**{"locale": "en-GB", **options})
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(live_server.url + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    # What Chromium says of a page that answers with 409.
    assert [text for text in complaints if "(Conflict)" not in text] == []


def way_out(tenant: Tenant) -> str:
    return unsubscribe_url(
        WayOut(
            tenant_id=tenant.pk,
            user_id="usr_1",
            category="weekly_tips",
            channel=Channel.EMAIL,
            delivery_id=UUID("019f0000-0000-7000-8000-000000000001"),
        )
    ).removeprefix(SITE)


def centre(tenant: Tenant) -> str:
    return preference_path(
        tenant_id=tenant.pk,
        user_id="usr_1",
        expires_at=database_now() + timedelta(hours=1),
    )


def choices(tenant: Tenant) -> dict[str, Any]:
    stored = NotificationPreferences.objects.get(tenant=tenant, user_id="usr_1")
    return dict(stored.category_choices)


def check_for_everybody(page: Page, name: str) -> None:
    """Fail on what axe finds serious or worse; keep a picture if asked for."""
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True)
    found = Axe().run(page).response["violations"]
    serious = [
        (each["id"], [node["html"] for node in each["nodes"]])
        for each in found
        if each["impact"] in {"serious", "critical"}
    ]
    assert serious == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en-GB", "vi-VN"])
def test_nobody_is_kept_out_of_the_ways_out(
    tenant: Tenant, open_page: OpenPage, locale: str, scheme: str
) -> None:
    language = locale[:2]
    options = {"locale": locale, "color_scheme": scheme}

    page = open_page(way_out(tenant), **options)
    expect(page.locator("html")).to_have_attribute("lang", language)
    check_for_everybody(page, f"unsubscribe-{language}-{scheme}")
    page.get_by_role("button").click()
    expect(page.get_by_role("status")).to_contain_text("Weekly tips")
    check_for_everybody(page, f"unsubscribed-{language}-{scheme}")

    page = open_page(centre(tenant), **options)
    check_for_everybody(page, f"preferences-{language}-{scheme}")


def test_one_gets_out_by_keyboard_alone_and_on_to_all_settings(
    tenant: Tenant, open_page: OpenPage
) -> None:
    page = open_page(way_out(tenant))

    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Stop them")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_role("status")).to_have_text(
        "You will get no more “Weekly tips” by e-mail."
    )
    assert choices(tenant) == {"weekly_tips": {"email": False}}
    page.get_by_role("link", name="All that we send you").click()
    tips = page.get_by_role("group", name="Weekly tips")
    expect(tips.get_by_label("E-mail")).not_to_be_checked()
    expect(tips.get_by_label("Inbox")).to_be_checked()


def test_boxes_are_ticked_and_saved_without_javascript(
    tenant: Tenant, open_page: OpenPage
) -> None:
    page = open_page(centre(tenant), java_script_enabled=False)

    page.get_by_role("group", name="Weekly tips").get_by_label("Text message").uncheck()
    page.get_by_role("group", name="Nothing at all").get_by_label(
        "Push notification"
    ).check()
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("status")).to_have_text("Saved.")
    assert choices(tenant) == {"weekly_tips": {"sms": False}}
    nothing = page.get_by_role("group", name="Nothing at all")
    expect(nothing.get_by_label("Push notification")).to_be_checked()


def test_who_comes_second_is_told_and_loses_nothing(
    tenant: Tenant, open_page: OpenPage
) -> None:
    """O-TIM-5"""
    path = centre(tenant)
    first, second = open_page(path), open_page(path)
    first.get_by_role("group", name="Weekly tips").get_by_label("Inbox").uncheck()
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_role("status")).to_have_text("Saved.")

    second.get_by_role("button", name="Save").click()

    expect(second.get_by_role("alert")).to_contain_text("changed elsewhere")
    assert choices(tenant) == {"weekly_tips": {"in_app": False}}


def test_a_broken_link_says_so(tenant: Tenant, open_page: OpenPage) -> None:
    page = open_page(way_out(tenant))
    page.route("**/*", lambda route: route.continue_())
    answer = page.request.get(page.url[:-4])

    assert answer.status == 404
    assert "This link does not work" in answer.text()


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_cut_off_on_a_small_screen(
    tenant: Tenant, open_page: OpenPage, width: int
) -> None:
    page = open_page(centre(tenant), viewport={"width": width, "height": 700})

    overflow = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )

    assert overflow == 0
