"""The inbox page in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from inbox.models import InboxItem
from tenants.models import Tenant
from tenants.scopes import Audience
from tenants.user_tokens import issue_user_token
from tests.factories.inbox import InboxItemFactory
from tests.factories.tenants import TenantFactory

OpenPage = Callable[..., Page]


@pytest.fixture
def tenant(committed: None) -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def open_page(
    browser: Browser, tenant: Tenant, live_server: Any
) -> Generator[OpenPage]:
    """Open the inbox of usr_42; nothing may be refused, thrown or logged meanwhile."""
    contexts, complaints = [], []

    def open_page(*, token: str | None = None, **options: Any) -> Page:
        context = browser.new_context(**{"locale": "en-GB", **options})
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(f"{live_server.url}/inbox/usr_42#token={token or token_of(tenant)}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    expected = re.compile(r"Failed to load resource: .*(401|404|ERR_FAILED)")
    assert [text for text in complaints if not expected.match(text)] == []


def token_of(tenant: Tenant, *, user_id: str = "usr_42") -> str:
    return issue_user_token(
        tenant_id=tenant.pk,
        user_id=user_id,
        audience=Audience.INBOX,
        lifetime=timedelta(minutes=5),
    )


def add(tenant: Tenant, title: str, **fields: Any) -> InboxItem:
    return InboxItemFactory.create(
        tenant_id=tenant.pk, user_id="usr_42", title=title, **fields
    )


def toggle(page: Page, title: str) -> Any:
    return page.get_by_role("button", name=re.compile(re.escape(title)))


def body(page: Page, text: str) -> Any:
    return page.get_by_role("paragraph").filter(has_text=text)


def test_the_keyboard_opens_a_message_and_that_marks_it_read(
    tenant: Tenant, open_page: OpenPage
) -> None:
    add(tenant, "Old news")
    item = add(tenant, "Your invoice is ready", body="Invoice 17\nover 120 EUR")
    page = open_page()
    expect(page.get_by_role("status")).to_have_text("2 unread")
    expect(toggle(page, "Your invoice")).to_have_accessible_name(
        re.compile("^Unread: Your invoice is ready")
    )

    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(toggle(page, "Your invoice")).to_be_focused()
    page.keyboard.press("Enter")

    expect(body(page, "Invoice 17 over 120 EUR")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("1 unread")
    expect(toggle(page, "Your invoice")).to_be_focused()
    expect(toggle(page, "Your invoice")).to_have_accessible_name(
        re.compile("^Your invoice is ready")
    )
    item.refresh_from_db()
    assert item.read_at is not None


def test_a_click_marks_read_and_a_reload_remembers(
    tenant: Tenant, open_page: OpenPage
) -> None:
    add(tenant, "Your invoice is ready")
    page = open_page()

    toggle(page, "Your invoice").click()
    expect(page.get_by_role("status")).to_have_text("All read")
    page.reload()

    expect(page.get_by_role("status")).to_have_text("All read")
    expect(toggle(page, "Your invoice")).to_be_visible()


def test_the_token_is_in_no_request_line_nor_in_the_address_bar(
    tenant: Tenant, open_page: OpenPage
) -> None:
    token = token_of(tenant)
    page = open_page(token=token)
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))

    page.reload()
    expect(page.get_by_text("No messages yet")).to_be_visible()

    assert urls
    assert not [url for url in [*urls, page.url] if token in url]


def test_an_empty_inbox_says_so(open_page: OpenPage) -> None:
    page = open_page()

    expect(page.get_by_text("No messages yet")).to_be_visible()
    expect(page.get_by_role("list")).to_be_hidden()


def test_a_new_message_appears_on_refresh_without_closing_the_open_one(
    tenant: Tenant, open_page: OpenPage
) -> None:
    add(tenant, "First", body="The first body")
    page = open_page()
    toggle(page, "First").click()

    add(tenant, "Second")
    page.get_by_role("button", name="Refresh").click()

    expect(page.get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("listitem").first).to_contain_text("Second")
    expect(body(page, "The first body")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("1 unread")


def test_older_messages_follow_and_the_keyboard_goes_on_among_them(
    tenant: Tenant, open_page: OpenPage
) -> None:
    for number in range(60):
        add(tenant, f"Message {number:02}")
    page = open_page()
    expect(page.get_by_role("listitem")).to_have_count(50)

    page.get_by_role("button", name="Show older messages").click()

    expect(page.get_by_role("listitem")).to_have_count(60)
    expect(page.get_by_role("button", name="Show older messages")).to_be_hidden()
    expect(toggle(page, "Message 09")).to_be_focused()


def test_vietnamese_for_a_browser_that_asks_for_it(
    tenant: Tenant, open_page: OpenPage
) -> None:
    add(tenant, "Hóa đơn tháng 9")
    page = open_page(locale="vi-VN")

    expect(page.get_by_role("heading", name="Hộp thư")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("1 tin chưa đọc")
    assert page.locator("html").get_attribute("lang") == "vi"


@pytest.mark.parametrize("token", ["stale.token.x", "another user's"])
def test_a_token_that_does_not_open_this_inbox_is_told_plainly(
    tenant: Tenant, open_page: OpenPage, token: str
) -> None:
    add(tenant, "Secret")
    if token == "another user's":
        token = token_of(tenant, user_id="usr_43")
    page = open_page(token=token)

    expect(page.get_by_role("alert")).to_contain_text("This link no longer works")
    expect(page.get_by_text("Secret")).to_have_count(0)


def test_a_failure_can_be_tried_again(tenant: Tenant, open_page: OpenPage) -> None:
    add(tenant, "Your invoice is ready")
    page = open_page()
    expect(toggle(page, "Your invoice")).to_be_visible()

    def fail(route: Route) -> None:
        route.abort()

    page.route("**/v1/**", fail)
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("alert")).to_contain_text("could not be loaded")
    expect(toggle(page, "Your invoice")).to_be_visible()

    page.unroute("**/v1/**", fail)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_message_that_could_not_be_marked_stays_unread(
    tenant: Tenant, open_page: OpenPage
) -> None:
    item = add(tenant, "Your invoice is ready")
    page = open_page()
    page.route("**/read", lambda route: route.abort())

    toggle(page, "Your invoice").click()

    expect(page.get_by_role("alert")).to_contain_text("could not be marked as read")
    expect(page.get_by_role("status")).to_have_text("1 unread")
    item.refresh_from_db()
    assert item.read_at is None


def test_what_a_message_holds_is_text_and_a_link_is_a_web_address(
    tenant: Tenant, open_page: OpenPage
) -> None:
    add(tenant, "<img src=x onerror=alert(1)>", link="javascript:alert(1)")
    add(tenant, "Elsewhere", link="https://shop.example.com/orders/1")
    add(tenant, "Here", link="/orders/2")
    page = open_page()
    for title in ("<img src=x", "Elsewhere", "Here"):
        toggle(page, title).click()

    expect(page.get_by_role("link")).to_have_count(2)
    expect(page.get_by_role("link", name="shop.example.com")).to_have_attribute(
        "href", "https://shop.example.com/orders/1"
    )
    expect(page.get_by_role("link", name="Open link", exact=True)).to_have_attribute(
        "href", re.compile("/orders/2$")
    )


def test_a_narrow_screen_scrolls_in_one_direction(
    tenant: Tenant, open_page: OpenPage
) -> None:
    add(
        tenant,
        "Averyveryveryveryveryverylongwordthatnobodywouldbreak" * 2,
        body="x" * 400,
    )
    page = open_page(viewport={"width": 320, "height": 640})
    toggle(page, "Avery").click()

    assert page.evaluate("document.documentElement.scrollWidth") == 320
