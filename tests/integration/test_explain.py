"""What would become of a message, told rule by rule."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tenants.models import Tenant
from tests.factories.preferences import (
    NotificationPreferencesFactory,
    RecipientFactory,
)
from tests.factories.tenants import (
    TenantCategoryFactory,
    TenantFactory,
    api_key,
    authorization,
)

pytestmark = pytest.mark.usefixtures("db")

QUIET = {"start": "22:00", "end": "08:00", "time_zone": "Asia/Ho_Chi_Minh"}


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def service(tenant: Tenant) -> Client:
    return Client(headers=authorization(api_key(tenant)))


def ask(service: Client, user_id: str = "usr_an", **question: Any) -> Any:
    return service.post(
        f"/v1/users/{user_id}/explain", question, content_type="application/json"
    )


def by_channel(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.content
    return {each["channel"]: each for each in answer.json()["channels"]}


def test_each_channel_is_decided_and_the_deciding_rule_comes_last(
    tenant: Tenant, service: Client
) -> None:
    TenantCategoryFactory.create(tenant=tenant, name="weekly_tips")
    RecipientFactory.create(tenant=tenant, user_id="usr_an")
    NotificationPreferencesFactory.create(
        tenant=tenant,
        user_id="usr_an",
        version=3,
        opt_outs=["sms"],
        quiet_hours=QUIET,
        category_choices={"weekly_tips": {"push": False}},
    )

    answer = ask(service, category="weekly_tips", at="2099-08-19T17:30:00Z")

    told = by_channel(answer)
    assert {name: each["decision"] for name, each in told.items()} == {
        "email": "defer",
        "sms": "suppress",
        "push": "suppress",
        "in_app": "allow",
    }
    assert told["email"]["until"] == "2099-08-20T01:00:00Z"
    assert told["email"]["considered"] == [
        {"rule": "channel_opt_out", "verdict": None},
        {"rule": "suppression_list", "verdict": None},
        {"rule": "category_choice", "verdict": None},
        {"rule": "category_default", "verdict": None},
        {"rule": "snooze", "verdict": None},
        {"rule": "quiet_hours", "verdict": "defer"},
    ]
    assert told["sms"]["rule"] == "channel_opt_out"
    assert told["push"]["rule"] == "category_choice"
    assert {each["preference_version"] for each in told.values()} == {3}
    assert told["email"]["time_zone"] == "Asia/Ho_Chi_Minh"
    assert answer.json()["legal_class"] == "marketing"
    assert answer.json()["priority"] == "low"


def test_somebody_unknown_has_no_address(service: Client) -> None:
    told = by_channel(ask(service, "usr_nobody", category="otp"))

    assert told["email"]["reason"] == "no_address"
    assert told["email"]["considered"][-1] == {
        "rule": "address_known",
        "verdict": "suppress",
    }
    assert told["in_app"]["decision"] == "allow"


def test_an_explanation_is_what_an_acceptance_then_says(
    tenant: Tenant, service: Client
) -> None:
    RecipientFactory.create(tenant=tenant, user_id="usr_an")

    told = by_channel(ask(service, category="transactional", channels=["email"]))

    assert list(told) == ["email"]
    assert (told["email"]["decision"], told["email"]["rule"]) == ("allow", "")


@pytest.mark.parametrize(
    ("question", "pointer"),
    [
        ({}, "/category"),
        ({"category": "weekly-tip"}, "/category"),
        ({"category": "otp", "channels": []}, "/channels"),
        ({"category": "otp", "channels": ["fax"]}, "/channels/0"),
        ({"category": "otp", "priority": "urgent"}, "/priority"),
        ({"category": "otp", "at": "2026-08-19T17:30:00"}, "/at"),
        ({"category": "otp", "when": "now"}, "/when"),
    ],
)
def test_a_question_that_means_nothing_names_the_field(
    service: Client, question: Any, pointer: str
) -> None:
    answer = ask(service, **question)

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
