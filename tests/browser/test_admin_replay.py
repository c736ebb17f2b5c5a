"""An operator signs in, finds a dead letter by its id, and replays it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.contrib.auth.models import User
from playwright.sync_api import Page, expect, sync_playwright

from audit.models import AuditEvent
from foundation.ids import public_id
from notifications.statuses import DeliveryStatus
from tenants.models import StaffMembership
from tests.factories.notifications import Row, delivery_of, insert
from tests.factories.tenants import TenantFactory

PASSWORD = "three quiet otters"


@contextmanager
def page_of(chromium: Path, url: str) -> Iterator[Page]:
    """Open a page that may load nothing from elsewhere and break nothing."""
    trouble: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(base_url=url)
        page.on("request", lambda seen: _note_if_outside(trouble, seen.url, url))
        page.on("console", lambda said: _note_if_error(trouble, said.type, said.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        yield page
        browser.close()
    assert trouble == []


def _note_if_outside(trouble: list[str], seen: str, url: str) -> None:
    if not seen.startswith((url, "data:", "about:")):
        trouble.append(seen)


def _note_if_error(trouble: list[str], kind: str, text: str) -> None:
    if kind == "error":
        trouble.append(text)


def test_an_operator_finds_a_dead_letter_and_replays_it(live_server, chromium):
    tenant = TenantFactory.create()
    operator = User.objects.create_user("ann", password=PASSWORD, is_staff=True)
    StaffMembership.objects.create(user=operator, tenant=tenant, role="operator")
    row = Row(status=DeliveryStatus.DEAD, tenant_id=tenant.pk, reason="window_over")
    delivery_id = insert(row).delivery_id
    insert(row)
    shown = public_id("dlv", delivery_id)

    with page_of(chromium, live_server.url) as page:
        page.goto("/admin/login/")
        page.get_by_label("Username").fill("ann")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("link", name="Dead letters").first.click()
        page.get_by_placeholder("A whole id").fill(shown)
        page.keyboard.press("Enter")
        page.get_by_role("link", name=shown).click()
        expect(page.get_by_text("window over")).to_be_visible()
        page.get_by_role("button", name="Replay", exact=True).click()
        page.get_by_text("Replayed 1.").wait_for()
        assert page.get_by_role("link", name=shown).count() == 0

    assert delivery_of(delivery_id)["status"] == "pending"
    replayed = AuditEvent.objects.get(kind="delivery.replayed")
    assert (replayed.delivery_id, replayed.actor) == (delivery_id, "staff:ann")
