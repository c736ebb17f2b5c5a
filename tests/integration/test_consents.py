"""The ledger of consents over the API: noted, obeyed, and never rewritten."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from preferences.models import ConsentEvent, NotificationPreferences
from tenants.models import Tenant
from tests.factories.tenants import (
    TenantCategoryFactory,
    TenantFactory,
    api_key,
    authorization,
)

pytestmark = pytest.mark.usefixtures("db")

URL = "/v1/users/usr_1/consents"
GIVEN = {"category": "news", "channel": "email", "change": "given"}


@pytest.fixture
def tenant() -> Tenant:
    tenant = TenantFactory.create()
    TenantCategoryFactory.create(
        tenant=tenant, name="news", off_by_default=["email", "sms"]
    )
    return tenant


@pytest.fixture
def service(tenant: Tenant) -> Client:
    return Client(headers=authorization(api_key(tenant)))


def note(service: Client, **changes: Any) -> Any:
    return service.post(URL, {**GIVEN, **changes}, content_type="application/json")


def explained(service: Client) -> str:
    answer = service.post(
        "/v1/users/usr_1/explain",
        {"category": "news", "channels": ["email"]},
        content_type="application/json",
    )
    rule: str = answer.json()["channels"][0]["rule"]
    return rule


def test_a_consent_given_elsewhere_is_noted_and_obeyed(
    tenant: Tenant, service: Client
) -> None:
    assert explained(service) == "category_default"

    answer = note(service, wording="newsletter v3", evidence="form 4711, 203.0.113.9")

    assert answer.status_code == 201
    assert explained(service) == "address_known"
    (told,) = service.get(URL).json()["items"]
    assert told == answer.json()["items"][0]
    assert told.pop("created_at")
    assert told == {
        "change": "given",
        "channel": "email",
        "category": "news",
        "source": "api",
        "wording": "newsletter v3",
        "actor": "service:billing",
        "has_evidence": True,
    }
    (event,) = ConsentEvent.objects.all()
    assert event.evidence is not None
    assert b"4711" not in bytes(event.evidence)
    assert b"usr_1" not in bytes(event.person_key)


def test_what_is_said_once_more_is_noted_once_more_and_changes_nothing(
    tenant: Tenant, service: Client
) -> None:
    for wording in ("v1", "v2"):
        note(service, wording=wording)

    items = service.get(URL).json()["items"]
    assert [each["wording"] for each in items] == ["v2", "v1"]
    assert NotificationPreferences.objects.get(tenant=tenant).version == 1


def test_a_withdrawal_is_obeyed(tenant: Tenant, service: Client) -> None:
    note(service)
    note(service, change="withdrawn")

    assert explained(service) == "category_choice"


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"category": "weekly-tip"}, "/category"),
        ({"category": "otp", "change": "withdrawn"}, "/category"),
        ({"channel": "fax"}, "/channel"),
        ({"change": "maybe"}, "/change"),
        ({"wording": "x" * 101}, "/wording"),
        ({"evidence": 7}, "/evidence"),
        ({"evidence": "a\u0000b"}, "/evidence"),
        ({"at": "2026-01-01"}, "/at"),
    ],
)
def test_a_consent_that_means_nothing_names_the_field(
    service: Client, changes: Any, pointer: str
) -> None:
    refused = note(service, **changes)

    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]
    assert not ConsentEvent.objects.exists()


def test_another_tenants_ledger_is_empty(service: Client) -> None:
    note(service)
    stranger = Client(headers=authorization(api_key(TenantFactory.create())))

    assert stranger.get(URL).json() == {"items": []}
