"""An operator puts a number on the suppression list, finds it, and lifts it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from tenants.models import StaffMembership, Tenant
from tests.factories.staff import Role, StaffFactory
from tests.factories.tenants import TenantFactory

# Where screenshots are kept for whoever wants to look at them.
SCREENSHOTS = os.environ.get("SCREENSHOTS")
LIST = "/admin/preferences/suppression/"


@pytest.fixture
def tenant(committed: None) -> Tenant:
    return TenantFactory.create(slug="acme", default_region="VN")


@pytest.fixture
def page(browser: Browser, live_server: Any, tenant: Tenant) -> Iterator[Page]:
    """Open the console as an operator of the tenant."""
    user = StaffFactory.create(username="operator")
    StaffMembership.objects.create(user=user, tenant=tenant, role=Role.OPERATOR)
    client = Client()
    client.force_login(user)
    session = client.cookies["sessionid"].value
    context = browser.new_context(base_url=live_server.url)
    context.add_cookies(
        [{"name": "sessionid", "value": session, "url": live_server.url}]
    )
    yield context.new_page()
    context.close()


def look(page: Page, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True)


def test_a_number_is_put_on_the_list_found_and_lifted(page: Page) -> None:
    page.goto(f"{LIST}add/")
    page.get_by_label("Tenant").select_option(label="acme")
    page.get_by_label("Channel").select_option("2")
    page.get_by_label("Address").fill("0912 345 678")
    page.get_by_label("Reason").select_option("legal_request")
    look(page, "suppression-add")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("On the list as sup_")).to_be_visible()
    page.goto(f"{LIST}?q=%2B84912345678")
    expect(page.get_by_text("legal request", exact=False).first).to_be_visible()
    look(page, "suppression-list")
    serious = [
        violation["id"]
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]
    assert serious == []

    page.get_by_role("link", name="sup_").first.click()
    look(page, "suppression-page")
    page.get_by_role("button", name="Lift").click()
    expect(
        page.get_by_text("Messages will go to these addresses again")
    ).to_be_visible()
    page.get_by_role("button", name="Lift").click()
    expect(page.get_by_text("Lifted 1, skipped 0.")).to_be_visible()
    look(page, "suppression-lifted")
