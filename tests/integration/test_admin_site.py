"""The console as a whole: signing in, finding one's way, and what it lets in."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from audit.models import AuditEvent
from providers.channels import Channel
from tenants.models import StaffMembership, Tenant, TenantKey
from tests.factories.providers import recorded
from tests.factories.staff import Role, StaffFactory, console_of, superuser_console
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

PASSWORD = "three quiet otters"


def test_signing_in_without_a_next_page_leads_to_the_console():
    """Dependencies, trap 8: it would lead to /accounts/profile/."""
    User.objects.create_superuser("root", password=PASSWORD)

    answer = Client().post(
        "/admin/login/", {"username": "root", "password": PASSWORD}, follow=True
    )

    assert answer.redirect_chain == [("/admin/", 302)]
    assert answer.status_code == 200


def test_an_account_that_is_not_staff_cannot_sign_in():
    User.objects.create_user("eve", password=PASSWORD)

    answer = Client().post("/admin/login/", {"username": "eve", "password": PASSWORD})

    assert answer.status_code == 200
    assert "_auth_user_id" not in answer.client.session


def test_pages_are_grouped_by_job_and_shown_to_whom_they_are_open():
    tenant = TenantFactory.create()

    def groups(console):
        shown = console.get("").context["sidebar_navigation"]
        return {g["title"]: [item["title"] for item in g["items"]] for g in shown}

    assert groups(superuser_console()) == {
        "Deliveries": [
            "Notifications",
            "Deliveries",
            "Dead letters",
            "Rejected records",
            "Account faults",
            "Pumping alarms",
            "Sandbox",
        ],
        "Content": ["Templates", "Layouts", "Categories"],
        "People": ["Suppression list", "Consents"],
        "Tenancy": ["Tenants", "Routes", "API keys", "Staff", "Accounts"],
        "Trail": ["Audit events"],
    }
    viewers = groups(console_of(tenant, Role.VIEWER))
    assert "Accounts" not in viewers["Tenancy"]
    assert "Rejected records" not in viewers["Deliveries"]


def test_who_has_no_tenant_is_told_whom_to_ask():
    client = Client()
    client.force_login(StaffFactory.create())

    assert "Nobody has given you a tenant yet" in client.get("/admin/").content.decode()


@pytest.mark.parametrize("path", ["/admin/login/", "/admin/", "/admin/tenants/tenant/"])
def test_pages_say_that_nothing_comes_from_elsewhere(path):
    client = Client()
    if path != "/admin/login/":
        client.force_login(StaffFactory.create(is_superuser=True))

    answer = client.get(path)

    policy = answer["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "script-src 'self' 'unsafe-eval';" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer["X-Frame-Options"] == "DENY"
    sources = re.findall(r'(?:src|href)="(https?:)?//', answer.content.decode())
    assert sources == []


@pytest.mark.parametrize("file", ["unfold/css/styles.css", "tenants/console.css"])
def test_looks_are_served_without_a_web_server_in_front(file):
    answer = Client().get(f"/static/{file}")

    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/css")
    answer.close()


def test_a_tenant_is_taken_on_board_with_its_keys_and_the_trail_says_by_whom():
    console = superuser_console()

    console.post(
        "tenants/tenant/add/",
        slug="acme",
        name="Acme",
        default_locale="vi",
        default_region="VN",
        time_zone="Asia/Ho_Chi_Minh",
    )

    tenant = Tenant.objects.get(slug="acme")
    assert (tenant.status, tenant.default_region) == ("active", "VN")
    purposes = TenantKey.objects.filter(tenant=tenant).values_list("purpose", flat=True)
    assert sorted(purposes) == ["index", "seal"]
    event = AuditEvent.objects.get(kind="tenant.created")
    assert event.actor == f"staff:{console.user.username}"


@pytest.mark.parametrize(
    "changes", [{"slug": "No Label"}, {"time_zone": "Mars"}, {"default_region": "vn"}]
)
def test_a_tenant_that_could_not_work_is_refused_in_the_form(changes):
    form = {"slug": "acme", "name": "Acme", "default_locale": "en", "time_zone": "UTC"}

    answer = superuser_console().post("tenants/tenant/add/", **{**form, **changes})

    assert answer.status_code == 200
    assert not Tenant.objects.exists()


@pytest.mark.parametrize(
    "page", ["tenants/tenant", "tenants/staffmembership", "auth/user"]
)
def test_even_administrators_of_a_tenant_keep_neither_tenants_nor_staff(page):
    tenant = TenantFactory.create()
    console = console_of(tenant, *Role.values)

    assert console.get(f"{page}/add/").status_code == 403


def test_a_role_is_given_by_form():
    tenant, user = TenantFactory.create(), StaffFactory.create()

    superuser_console().post(
        "tenants/staffmembership/add/", user=user.pk, tenant=tenant.pk, role="operator"
    )

    assert StaffMembership.objects.get(user=user).role == Role.OPERATOR


def test_an_account_is_closed_and_never_deleted():
    user = StaffFactory.create()

    answer = superuser_console().post(f"auth/user/{user.pk}/delete/", post="yes")

    assert answer.status_code == 403
    assert User.objects.filter(pk=user.pk).exists()


def test_page_of_a_sandbox_message_shows_what_would_have_been_sent():
    tenant = TenantFactory.create()
    message = recorded(
        tenant.pk,
        channel=Channel.SMS,
        content={"address": "+84912345678", "parts": {"text": "Your code is 1234."}},
    )
    console = console_of(tenant, Role.VIEWER)

    page = console.get(f"providers/sandboxmessage/{message.pk}/change/")
    listed = console.get("providers/sandboxmessage/").content.decode()

    assert "Your code is 1234." in page.content.decode()
    assert "+84•••678" in page.content.decode()
    assert "1234" not in listed
    assert "+84" not in listed
