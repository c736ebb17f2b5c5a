"""The page where a person chooses, by a link and without a login."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from foundation.database_clock import database_now
from preferences.links import preference_path
from preferences.models import ConsentEvent, NotificationPreferences
from tenants.models import Tenant, TenantCategory
from tests.factories.preferences import RecipientFactory
from tests.factories.tenants import (
    TenantCategoryFactory,
    TenantFactory,
    api_key,
    authorization,
)

pytestmark = pytest.mark.usefixtures("db")

CHECKED = re.compile(r'name="(\w+)" value="([\w:]+)"[^>]* checked')


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def path(tenant: Tenant) -> str:
    return preference_path(
        tenant_id=tenant.pk,
        user_id="usr_1",
        expires_at=database_now() + timedelta(hours=1),
    )


def ticked(page: Any) -> set[tuple[str, str]]:
    return set(CHECKED.findall(page.content.decode()))


def stored(tenant: Tenant) -> NotificationPreferences:
    return NotificationPreferences.objects.get(tenant=tenant, user_id="usr_1")


def everything(tenant: Tenant) -> list[str]:
    rows = TenantCategory.objects.filter(tenant=tenant).exclude(legal_class="mandatory")
    return [
        f"{row.name}:{channel}"
        for row in rows
        for channel in ("email", "sms", "push", "in_app")
    ]


def test_it_shows_what_one_gets_as_things_are(tenant: Tenant, path: str) -> None:
    TenantCategoryFactory.create(tenant=tenant, name="news", off_by_default=["sms"])
    NotificationPreferences.objects.create(
        tenant=tenant,
        user_id="usr_1",
        version=1,
        opt_outs=["push"],
        category_choices={"marketing": {"email": False}},
    )

    shown = ticked(Client().get(path))

    assert ("wanted", "marketing:email") not in shown
    assert ("wanted", "marketing:sms") in shown
    assert ("wanted", "news:sms") not in shown
    assert ("wanted", "news:email") in shown
    assert ("opt_out", "push") in shown
    assert not any(value.startswith("otp:") for _, value in shown)


def test_what_is_ticked_otherwise_is_stored_and_nothing_else(
    tenant: Tenant, path: str
) -> None:
    """Whoever leaves a box alone goes on following the tenant's default."""
    wanted = [each for each in everything(tenant) if each != "marketing:email"]

    page = Client().post(path, {"version": "0", "wanted": wanted, "opt_out": ["sms"]})

    assert page.status_code == 200
    assert "Saved." in page.content.decode()
    assert stored(tenant).category_choices == {"marketing": {"email": False}}
    assert stored(tenant).opt_outs == ["sms"]
    wordings = ConsentEvent.objects.values_list("wording", flat=True)
    assert set(wordings) == {"pages 1 en"}
    told = ConsentEvent.objects.values_list("channel", "category", "change", "source")
    assert sorted(told) == [
        (1, "marketing", "withdrawn", "preference_page"),
        (2, "", "withdrawn", "preference_page"),
    ]


def test_quiet_hours_that_an_app_has_set_stay(tenant: Tenant, path: str) -> None:
    quiet = {"start": "22:00", "end": "07:00", "time_zone": None}
    NotificationPreferences.objects.create(
        tenant=tenant, user_id="usr_1", version=1, opt_outs=[], quiet_hours=quiet
    )

    Client().post(path, {"version": "1", "wanted": everything(tenant)})

    assert stored(tenant).quiet_hours == quiet
    assert stored(tenant).version == 2


@pytest.mark.parametrize("version", ["0", "7", "-1", "x", "", "99999999999999"])
def test_a_page_that_is_out_of_date_stores_nothing_and_shows_what_is_so(
    tenant: Tenant, path: str, version: str
) -> None:
    """O-TIM-5"""
    NotificationPreferences.objects.create(
        tenant=tenant, user_id="usr_1", version=3, opt_outs=["email"]
    )

    page = Client().post(path, {"version": version, "wanted": []})

    assert page.status_code == 409
    assert "changed elsewhere" in page.content.decode()
    assert ("opt_out", "email") in ticked(page)
    assert stored(tenant).version == 3


def test_what_is_no_category_or_channel_is_left_out(tenant: Tenant, path: str) -> None:
    wanted = [*everything(tenant), "otp:email", "spam:email", "marketing:fax", "x"]

    Client().post(path, {"version": "0", "wanted": wanted, "opt_out": ["fax", "sms"]})

    assert stored(tenant).category_choices == {}
    assert stored(tenant).opt_outs == ["sms"]


def test_a_link_opens_until_it_expires(tenant: Tenant) -> None:
    gone = preference_path(
        tenant_id=tenant.pk,
        user_id="usr_1",
        expires_at=database_now() - timedelta(seconds=1),
    )

    assert Client().get(gone).status_code == 404
    assert Client().post(gone, {"version": "0"}).status_code == 404
    assert not NotificationPreferences.objects.exists()


@pytest.mark.parametrize(
    ("locale", "browser", "language"),
    [
        ("vi-VN", "en-GB,en;q=0.9", "vi"),
        ("", "vi,en;q=0.8", "vi"),
        ("", "de-DE,de;q=0.9", "en"),
        ("fr", "vi", "vi"),
        ("", "", "en"),
    ],
)
def test_it_speaks_the_persons_language_else_the_browsers(
    tenant: Tenant, path: str, locale: str, browser: str, language: str
) -> None:
    RecipientFactory.create(tenant=tenant, user_id="usr_1", locale=locale)

    page = Client().get(path, headers={"Accept-Language": browser}).content.decode()

    assert f'<html lang="{language}">' in page
    assert ("Lưu" if language == "vi" else "Save") in page


def test_a_category_is_named_in_the_persons_language(tenant: Tenant, path: str) -> None:
    TenantCategoryFactory.create(
        tenant=tenant,
        name="weekly_tips",
        label="Weekly tips",
        labels={"vi": "Mẹo hàng tuần"},
    )
    english = Client().get(path).content.decode()
    vietnamese = (
        Client().get(path, headers={"Accept-Language": "vi-VN"}).content.decode()
    )

    assert "Weekly tips" in english
    assert "Mẹo hàng tuần" in vietnamese
    assert "Weekly tips" not in vietnamese


def test_what_a_tenant_writes_is_text(tenant: Tenant, path: str) -> None:
    TenantCategoryFactory.create(
        tenant=tenant, name="news", label="<script>alert(1)</script>"
    )

    assert "<script" not in Client().get(path).content.decode()


def test_a_service_makes_a_link_for_a_person(tenant: Tenant) -> None:
    service = Client(headers=authorization(api_key(tenant)))

    made = service.post(
        "/v1/users/usr_1/preference-link",
        {"lifetime_seconds": 600},
        content_type="application/json",
    )

    assert made.status_code == 201
    url = made.json()["url"].removeprefix("http://testserver")
    assert Client().get(url).status_code == 200


@pytest.mark.parametrize("seconds", [0, -1, 59, 2_592_001, "soon", None])
def test_a_lifetime_that_is_none_is_refused(tenant: Tenant, seconds: Any) -> None:
    service = Client(headers=authorization(api_key(tenant)))

    refused = service.post(
        "/v1/users/usr_1/preference-link",
        {"lifetime_seconds": seconds},
        content_type="application/json",
    )

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/lifetime_seconds"


def test_pages_run_and_load_nothing_from_elsewhere(path: str) -> None:
    page = Client().get(path)

    assert "default-src 'none'" in page["Content-Security-Policy"]
    assert page["Referrer-Policy"] == "no-referrer"
    assert page["Cache-Control"] == "no-store"
