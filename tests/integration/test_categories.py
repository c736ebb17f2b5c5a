"""Categories of a tenant's own: kept, chosen and switched off by people."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from audit.models import AuditEvent
from preferences.models import NotificationPreferences
from tenants.category_catalog import UnknownCategory, find_category
from tenants.models import Tenant, TenantCategory
from tests.factories.staff import Role, console_of, superuser_console
from tests.factories.templates import TemplateFactory
from tests.factories.tenants import (
    TenantCategoryFactory,
    TenantFactory,
    api_key,
    authorization,
)

pytestmark = pytest.mark.usefixtures("db")

URL = "/v1/users/usr_42/notification-preferences"


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def service(tenant: Tenant) -> Client:
    return Client(headers=authorization(api_key(tenant)))


def put(service: Client, if_match: str = '"0"', **choices: Any) -> Any:
    return service.put(
        URL,
        {"opt_outs": [], **choices},
        content_type="application/json",
        headers={"If-Match": if_match},
    )


def pointers(response: Any) -> list[str]:
    assert response.status_code == 422, response.content
    return [error["pointer"] for error in response.json()["errors"]]


def test_every_tenant_has_the_built_in_categories(tenant: Tenant) -> None:
    rows = TenantCategory.objects.filter(tenant=tenant).order_by("name")

    assert [(row.name, row.base, row.legal_class) for row in rows] == [
        ("marketing", "marketing", "marketing"),
        ("otp", "otp", "mandatory"),
        ("transactional", "transactional", "transactional"),
    ]


def test_a_category_without_a_class_is_optional(tenant: Tenant) -> None:
    """O-TIM-5: nothing is mandatory unless somebody says so."""
    tips = TenantCategory.objects.create(tenant=tenant, name="weekly_tips")

    assert (tips.base, tips.legal_class) == ("marketing", "marketing")
    assert not find_category(tenant_id=tenant.pk, name="weekly_tips").is_mandatory


@pytest.mark.parametrize(
    "fields",
    [
        {"base": "otp", "legal_class": "marketing"},
        {"base": "marketing", "legal_class": "mandatory"},
        {"base": "transactional", "legal_class": "marketing"},
        {"base": "spam", "legal_class": "marketing"},
        {"name": "Weekly Tips"},
        {"off_by_default": ["fax"]},
        {
            "base": "transactional",
            "legal_class": "mandatory",
            "off_by_default": ["email"],
        },
    ],
)
def test_what_fits_no_law_is_not_stored(tenant: Tenant, fields: Any) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        TenantCategoryFactory.create(tenant=tenant, **fields)


@pytest.mark.parametrize("name", ["otp", "transactional", "marketing"])
def test_built_in_categories_stay(tenant: Tenant, name: str) -> None:
    row = TenantCategory.objects.get(tenant=tenant, name=name)

    with pytest.raises(IntegrityError), transaction.atomic():
        row.delete()
    for changed in ({"name": "other"}, {"base": "marketing", "name": "tips"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            TenantCategory.objects.filter(pk=row.pk).update(**changed)


def test_a_category_that_templates_name_is_not_deleted(tenant: Tenant) -> None:
    tips = TenantCategoryFactory.create(tenant=tenant, name="weekly_tips")
    TemplateFactory.create(tenant=tenant, category="weekly_tips")

    with pytest.raises(IntegrityError), transaction.atomic():
        tips.delete()


def test_a_template_is_of_a_category_of_its_own_tenant(tenant: Tenant) -> None:
    TenantCategoryFactory.create(name="weekly_tips")

    with pytest.raises(IntegrityError), transaction.atomic():
        TemplateFactory.create(tenant=tenant, category="weekly_tips")
    with pytest.raises(UnknownCategory):
        find_category(tenant_id=tenant.pk, name="weekly_tips")


def test_choices_by_category_are_stored_and_read_back(
    tenant: Tenant, service: Client
) -> None:
    """O-TIM-5"""
    TenantCategoryFactory.create(tenant=tenant, name="weekly_tips")
    chosen = {"weekly_tips": {"email": False, "push": True}}

    response = put(service, categories=chosen, snooze_until="2026-12-24T18:00:00+07:00")

    assert response.status_code == 200
    assert service.get(URL).json() == response.json()
    assert response.json()["categories"] == chosen
    assert response.json()["snooze_until"] == "2026-12-24T11:00:00Z"
    trail = AuditEvent.objects.get(tenant_id=tenant.pk, kind="preferences.changed")
    assert trail.detail["categories"] == chosen


@pytest.mark.parametrize(
    ("choices", "pointer"),
    [
        ({"categories": {"weekly-tip": {"email": False}}}, "/categories/weekly-tip"),
        (
            {"categories": {"weekly_tips": {"fax": False}}},
            "/categories/weekly_tips/fax",
        ),
        (
            {"categories": {"weekly_tips": {"email": "no"}}},
            "/categories/weekly_tips/email",
        ),
        ({"categories": {"weekly_tips": False}}, "/categories/weekly_tips"),
        ({"categories": []}, "/categories"),
        ({"categories": None}, "/categories"),
        ({"categories": {"otp": {"email": False}}}, "/categories/otp/email"),
        ({"snooze_until": "2026-12-24T18:00:00"}, "/snooze_until"),
        ({"snooze_until": "2099-01-01T00:00:00Z"}, "/snooze_until"),
        ({"snooze_until": 1787112000}, "/snooze_until"),
    ],
)
def test_choices_that_mean_nothing_name_the_field_and_are_not_stored(
    tenant: Tenant, service: Client, choices: Any, pointer: str
) -> None:
    """O-TIM-5: a misspelt category would be a switch without a wire."""
    TenantCategoryFactory.create(tenant=tenant, name="weekly_tips")

    assert pointers(put(service, **choices)) == [pointer]
    assert not NotificationPreferences.objects.exists()


def test_services_list_the_categories_of_their_tenant(
    tenant: Tenant, service: Client
) -> None:
    TenantCategoryFactory.create(name="news_of_others")
    TenantCategoryFactory.create(
        tenant=tenant, name="weekly_tips", label="Weekly tips", off_by_default=["sms"]
    )

    items = service.get("/v1/categories").json()["items"]

    assert [item["name"] for item in items] == [
        "marketing",
        "otp",
        "transactional",
        "weekly_tips",
    ]
    assert items[3] == {
        "name": "weekly_tips",
        "label": "Weekly tips",
        "labels": {},
        "base": "marketing",
        "legal_class": "marketing",
        "off_by_default": ["sms"],
    }


def test_an_administrator_adds_and_changes_a_category_and_the_trail_says_so(
    tenant: Tenant,
) -> None:
    console = console_of(tenant, Role.ADMINISTRATOR)
    console.post(
        "tenants/tenantcategory/add/",
        tenant=tenant.pk,
        name="security",
        base="transactional",
        legal_class="transactional",
        label="Security",
    )
    row = TenantCategory.objects.get(tenant=tenant, name="security")

    console.post(
        f"tenants/tenantcategory/{row.pk}/change/",
        legal_class="mandatory",
        label="Security",
    )

    row.refresh_from_db()
    assert row.legal_class == "mandatory"
    created, changed = AuditEvent.objects.filter(
        tenant_id=tenant.pk, kind__startswith="tenant.category"
    ).order_by("created_at", "id")
    assert created.kind == "tenant.category_created"
    assert changed.detail["legal_class_was"] == "transactional"


def test_a_form_that_fits_no_law_says_so(tenant: Tenant) -> None:
    console = superuser_console()

    page = console.post(
        "tenants/tenantcategory/add/",
        tenant=tenant.pk,
        name="codes",
        base="otp",
        legal_class="marketing",
    )

    assert "One-time passwords are mandatory" in page.content.decode()
    assert not TenantCategory.objects.filter(name="codes").exists()


@pytest.mark.parametrize(
    ("legal_class", "cap", "told"),
    [
        ("marketing", {"most_messages": 2}, "A cap says how many"),
        ("marketing", {"most_in_hours": 24}, "A cap says how many"),
        (
            "marketing",
            {"most_messages": 0, "most_in_hours": 1},
            "greater than or equal",
        ),
        ("mandatory", {"most_messages": 2, "most_in_hours": 24}, "has no cap"),
    ],
)
def test_a_cap_that_could_not_hold_is_refused_in_the_form(
    tenant: Tenant, legal_class: str, cap: dict[str, int], told: str
) -> None:
    page = superuser_console().post(
        "tenants/tenantcategory/add/",
        tenant=tenant.pk,
        name="tips",
        base="marketing" if legal_class == "marketing" else "transactional",
        legal_class=legal_class,
        **cap,
    )

    assert told in page.content.decode()
    assert not TenantCategory.objects.filter(name="tips").exists()


def test_half_a_cap_is_none_in_the_database_either(tenant: Tenant) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        TenantCategoryFactory.create(tenant=tenant, most_messages=2)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ('["vi"]', "Write languages and labels"),
        ('{"Vietnamese": "x"}', "is no language"),
        ('{"vi": ""}', "1 to 100 characters"),
        ('{"vi": 5}', "1 to 100 characters"),
        ('{"vi": ', "Enter a valid JSON"),
    ],
)
def test_labels_that_are_none_are_refused_in_the_form(
    tenant: Tenant, labels: str, told: str
) -> None:
    page = superuser_console().post(
        "tenants/tenantcategory/add/",
        tenant=tenant.pk,
        name="tips",
        base="marketing",
        legal_class="marketing",
        labels=labels,
    )

    assert told in unescape(page.content.decode())
    assert not TenantCategory.objects.filter(name="tips").exists()
