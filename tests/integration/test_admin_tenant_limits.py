"""Superusers limit tenants on their page; everybody who looks sees what is used."""

from __future__ import annotations

from typing import Any

import pytest

from audit.models import AuditEvent
from tenants.daily_quotas import Blocks
from tenants.models import Tenant
from tests.factories.staff import Role, console_of, superuser_console
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")


def form(tenant: Tenant, **changes: Any) -> dict[str, Any]:
    known = {
        "name": tenant.name,
        "status": tenant.status,
        "default_locale": tenant.default_locale,
        "default_region": tenant.default_region,
        "time_zone": tenant.time_zone,
    }
    return {**known, **changes}


def page_of(tenant: Tenant) -> str:
    return f"tenants/tenant/{tenant.pk}/change/"


def test_limits_are_set_by_form_and_the_trail_says_what_they_were():
    tenant, console = TenantFactory.create(), superuser_console()
    Tenant.objects.filter(pk=tenant.pk).update(daily_sms_quota=100)

    console.post(
        page_of(tenant), **form(tenant, requests_per_second=20, daily_sms_quota=0)
    )

    tenant.refresh_from_db()
    assert (tenant.requests_per_second, tenant.daily_sms_quota) == (20, 0)
    event = AuditEvent.objects.get(kind="tenant.limits_changed", tenant_id=tenant.pk)
    assert event.actor == f"staff:{console.user.username}"
    assert event.detail == {
        "requests_per_second": 20,
        "requests_per_second_was": None,
        "daily_sms_quota": 0,
        "daily_sms_quota_was": 100,
    }


def test_the_order_of_a_category_is_chosen_by_form_and_told():
    tenant, console = TenantFactory.create(), superuser_console()

    chosen = ["otp", "marketing"]
    console.post(page_of(tenant), **form(tenant, ordered_categories=chosen))

    tenant.refresh_from_db()
    assert tenant.ordered_categories == chosen
    event = AuditEvent.objects.get(kind="tenant.order_changed", tenant_id=tenant.pk)
    assert event.detail == {
        "ordered_categories": chosen,
        "ordered_categories_was": [],
    }
    assert not AuditEvent.objects.filter(kind="tenant.limits_changed").exists()


def test_the_alphabet_of_text_messages_is_chosen_by_form_and_told():
    tenant, console = TenantFactory.create(), superuser_console()

    console.post(page_of(tenant), **form(tenant, transliterates_sms="on"))

    tenant.refresh_from_db()
    assert tenant.transliterates_sms
    event = AuditEvent.objects.get(kind="tenant.alphabet_changed", tenant_id=tenant.pk)
    assert event.detail == {
        "transliterates_sms": True,
        "transliterates_sms_was": False,
    }


def test_review_of_templates_is_asked_for_by_form_and_told():
    tenant = TenantFactory.create()

    superuser_console().post(page_of(tenant), **form(tenant, reviews_templates="on"))

    tenant.refresh_from_db()
    assert tenant.reviews_templates
    event = AuditEvent.objects.get(kind="tenant.review_changed", tenant_id=tenant.pk)
    assert event.detail == {"reviews_templates": True, "reviews_templates_was": False}


def test_the_check_of_sizes_is_asked_for_by_form_and_told():
    tenant = TenantFactory.create()

    superuser_console().post(page_of(tenant), **form(tenant, checks_sizes="on"))

    tenant.refresh_from_db()
    assert tenant.checks_sizes
    event = AuditEvent.objects.get(
        kind="tenant.size_check_changed", tenant_id=tenant.pk
    )
    assert event.detail == {"checks_sizes": True, "checks_sizes_was": False}


def test_another_change_is_no_change_of_limits():
    tenant = TenantFactory.create()

    superuser_console().post(page_of(tenant), **form(tenant, name="Renamed"))

    assert Tenant.objects.get(pk=tenant.pk).name == "Renamed"
    assert not AuditEvent.objects.filter(kind="tenant.limits_changed").exists()


@pytest.mark.parametrize(
    "wrong", [{"requests_per_second": 0}, {"daily_email_quota": -1}]
)
def test_a_limit_that_could_not_hold_is_refused_in_the_form(wrong):
    tenant = TenantFactory.create()

    answer = superuser_console().post(page_of(tenant), **form(tenant, **wrong))

    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == list(wrong)
    assert not AuditEvent.objects.filter(kind="tenant.limits_changed").exists()


def test_members_of_the_tenant_see_limits_and_set_none():
    tenant = TenantFactory.create()
    console = console_of(tenant, *Role.values)

    answer = console.post(page_of(tenant), **form(tenant, requests_per_second=9))

    assert answer.status_code == 403
    assert "requests_per_second" not in answer.content.decode()
    tenant.refresh_from_db()
    assert tenant.requests_per_second is None
    assert "Daily sms quota" in console.get(page_of(tenant)).content.decode()


def test_the_page_shows_what_is_used_of_today():
    tenant = TenantFactory.create()
    Tenant.objects.filter(pk=tenant.pk).update(daily_sms_quota=50, daily_push_quota=3)
    Blocks().take(tenant_id=tenant.pk, messages={"sms": 4, "email": 7})

    (table, _) = superuser_console().get(page_of(tenant)).context["tables"]

    assert table.title.startswith("Messages of ")
    assert [list(row) for row in table.rows] == [
        ["email", "not counted", "none"],
        ["sms", 4, 50],
        ["push", 0, 3],
        ["in app", "not counted", "none"],
    ]


def test_the_page_shows_what_text_messages_have_cost_today():
    tenant = TenantFactory.create()
    Tenant.objects.filter(pk=tenant.pk).update(daily_sms_spend_cap=50)
    Blocks().take(tenant_id=tenant.pk, messages={"sms_spend": 1_250_000})

    (_, table) = superuser_console().get(page_of(tenant)).context["tables"]

    # A millionth of a unit each; a block is a tenth of one.
    assert [list(row) for row in table.rows] == [[1.25, 50]]


def test_a_tenant_without_a_cap_is_not_counted():
    tenant = TenantFactory.create()

    (_, table) = superuser_console().get(page_of(tenant)).context["tables"]

    assert [list(row) for row in table.rows] == [["not counted", "none"]]


def test_quiet_hours_are_lines_of_the_form_and_told():
    tenant, console = TenantFactory.create(), superuser_console()
    lines = "mon-fri 21:00-08:00\r\nsat,sun 00:00-24:00"

    console.post(page_of(tenant), **form(tenant, quiet_hours=lines))

    tenant.refresh_from_db()
    assert tenant.quiet_hours == lines
    event = AuditEvent.objects.get(
        kind="tenant.quiet_hours_changed", tenant_id=tenant.pk
    )
    assert event.detail == {"quiet_hours": lines, "quiet_hours_was": ""}


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("daily 22:00-07:00\nsundays", "Line 2: write days and hours"),
        ("daily 00:00-24:00", "no minute"),
    ],
)
def test_quiet_hours_that_are_none_are_refused_by_their_line(lines, told):
    tenant = TenantFactory.create()

    answer = superuser_console().post(
        page_of(tenant), **form(tenant, quiet_hours=lines)
    )

    assert answer.status_code == 200
    assert told in answer.content.decode()
    tenant.refresh_from_db()
    assert tenant.quiet_hours == ""


@pytest.mark.parametrize("countries", ["vn", "VN,LA", "VNM", "* VN"])
def test_countries_that_are_none_are_refused_in_the_form(countries):
    tenant = TenantFactory.create()

    answer = superuser_console().post(
        page_of(tenant), **form(tenant, sms_countries=countries)
    )

    assert answer.status_code == 200
    assert answer.context["adminform"].form.errors
    tenant.refresh_from_db()
    assert tenant.sms_countries == ""


def test_a_new_tenant_is_not_asked_for_limits():
    page = superuser_console().get("tenants/tenant/add/").content.decode()

    assert "requests_per_second" not in page
