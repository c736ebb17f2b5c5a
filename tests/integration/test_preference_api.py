from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from preferences.models import NotificationPreferences
from preferences.policy import Case, Verdict, decide
from preferences.profiles import load_profiles
from providers.channels import Channel
from tenants.categories import Category, Priority
from tenants.models import Tenant
from tenants.scopes import Audience
from tenants.user_tokens import issue_user_token
from tests.factories.tenants import (
    TenantFactory,
    api_key,
    authorization,
    known_category,
)

pytestmark = pytest.mark.usefixtures("db")

URL = "/v1/users/usr_42/notification-preferences"
NIGHT = {"start": "22:00", "end": "07:00", "time_zone": "Asia/Ho_Chi_Minh"}


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def service(tenant: Tenant) -> Client:
    return Client(headers=authorization(api_key(tenant)))


def put(client: Client, body: Any, if_match: str | None = '"0"') -> Any:
    headers = {} if if_match is None else {"If-Match": if_match}
    return client.put(URL, body, content_type="application/json", headers=headers)


def test_a_user_who_never_chose_is_at_version_0(service: Client) -> None:
    response = service.get(URL)

    assert response["ETag"] == '"0"'
    assert response.json() == {
        "user_id": "usr_42",
        "version": 0,
        "opt_outs": [],
        "quiet_hours": None,
        "categories": {},
        "snooze_until": None,
        "updated_at": None,
    }


def test_choices_are_stored_and_read_back_with_the_next_version(
    service: Client,
) -> None:
    first = put(service, {"opt_outs": ["sms", "email"], "quiet_hours": NIGHT})
    second = put(service, {"opt_outs": []}, '"1"')

    assert (first.status_code, first["ETag"]) == (200, '"1"')
    assert first.json()["opt_outs"] == ["email", "sms"]
    assert first.json()["quiet_hours"] == NIGHT
    assert (second.status_code, second["ETag"]) == (200, '"2"')
    assert service.get(URL).json() == second.json()
    assert second.json()["quiet_hours"] is None


@pytest.mark.parametrize(
    ("if_match", "status"),
    [
        (None, 428),
        ('"0"', 412),
        ('"2"', 412),
        ('W/"1"', 412),
        ('"abc"', 412),
        ("1", 400),
        ('"1"', 200),
        ("*", 200),
        ('"7", "1"', 200),
        ('W/"7", "1"', 200),
    ],
)
def test_only_a_strong_tag_of_the_stored_version_lets_a_change_in(
    service: Client, if_match: str | None, status: int
) -> None:
    """Bad input 25, O-TIM-5."""
    put(service, {"opt_outs": ["email"]})

    response = put(service, {"opt_outs": ["sms"]}, if_match)

    assert response.status_code == status
    expected = ["sms"] if status == 200 else ["email"]
    assert service.get(URL).json()["opt_outs"] == expected


@pytest.mark.parametrize("if_match", ["*", '"1"', 'W/"0"'])
def test_nothing_stored_matches_only_version_0(service: Client, if_match: str) -> None:
    """Bad input 25: a star stands for something that exists."""
    assert put(service, {"opt_outs": []}, if_match).status_code == 412
    assert not NotificationPreferences.objects.exists()


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"opt_outs": ["weekly-tip"]}, "/opt_outs/0"),  # O-TIM-5
        ({"opt_outs": ["email", "email"]}, "/opt_outs"),
        ({"opt_outs": "email"}, "/opt_outs"),
        ({"opt_outs": None}, "/opt_outs"),
        ({"quiet_hours": NIGHT}, "/opt_outs"),
        ({"opt_outs": [], "quite_hours": NIGHT}, "/quite_hours"),
        (
            {"opt_outs": [], "quiet_hours": {**NIGHT, "end": "22:00"}},
            "/quiet_hours/end",
        ),
        (
            {"opt_outs": [], "quiet_hours": {**NIGHT, "end": "25:00"}},
            "/quiet_hours/end",
        ),
        (
            {"opt_outs": [], "quiet_hours": {**NIGHT, "end": "107:00"}},
            "/quiet_hours/end",
        ),
        ({"opt_outs": [], "quiet_hours": {**NIGHT, "end": "7:00"}}, "/quiet_hours/end"),
        (
            {"opt_outs": [], "quiet_hours": {**NIGHT, "end": "07:00\n"}},
            "/quiet_hours/end",
        ),
        ({"opt_outs": [], "quiet_hours": {**NIGHT, "days": []}}, "/quiet_hours/days"),
        (
            {"opt_outs": [], "quiet_hours": {**NIGHT, "time_zone": "Mars/X"}},
            "/quiet_hours/time_zone",
        ),
        (
            {"opt_outs": [], "quiet_hours": {**NIGHT, "time_zone": "+07"}},
            "/quiet_hours/time_zone",
        ),
    ],
)
def test_bad_input_names_the_field_and_is_not_stored(
    service: Client, body: Any, pointer: str
) -> None:
    """Bad input 27, O-TIM-5."""
    response = put(service, body)

    assert response.status_code == 422
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]
    assert not NotificationPreferences.objects.exists()


WEEK: dict[str, Any] = {
    "time_zone": "Asia/Ho_Chi_Minh",
    "windows": [
        {"days": ["mon", "fri"], "start": "22:00", "end": "07:00"},
        {"days": ["sat", "sun"], "start": "00:00", "end": "24:00"},
    ],
}


def test_windows_by_weekday_are_stored_read_back_and_obeyed(
    tenant: Tenant, service: Client
) -> None:
    first = put(service, {"opt_outs": [], "quiet_hours": WEEK})

    assert first.status_code == 200
    assert first.json()["quiet_hours"] == WEEK
    assert service.get(URL).json() == first.json()
    quiet = load_profiles([(tenant.pk, "usr_42")])[tenant.pk, "usr_42"].quiet_hours
    assert quiet is not None
    saturday = datetime(2026, 8, 22, 5, tzinfo=UTC)
    assert quiet.until(saturday) == datetime(2026, 8, 23, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    ("quiet", "pointer"),
    [
        ({**WEEK, "start": "22:00"}, "/quiet_hours/start"),
        ({"start": "22:00"}, "/quiet_hours/end"),
        ({"windows": []}, "/quiet_hours/windows"),
        ({"windows": WEEK["windows"] * 8}, "/quiet_hours/windows"),
        ({"windows": [{"days": [], "start": "22:00", "end": "07:00"}]}, "days"),
        ({"windows": [{"days": ["mo"], "start": "22:00", "end": "07:00"}]}, "days"),
        (
            {"windows": [{"days": ["mon", "mon"], "start": "22:00", "end": "07:00"}]},
            "days",
        ),
        ({"windows": [{"days": ["mon"], "start": "24:00", "end": "07:00"}]}, "start"),
        ({"windows": [{"days": ["mon"], "start": "07:00", "end": "07:00"}]}, "end"),
        (
            {
                "windows": [
                    {
                        "days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
                        "start": "00:00",
                        "end": "24:00",
                    }
                ]
            },
            "/quiet_hours/windows",
        ),
    ],
)
def test_windows_that_mean_nothing_name_the_field(
    service: Client, quiet: Any, pointer: str
) -> None:
    """Bad input 27."""
    refused = put(service, {"opt_outs": [], "quiet_hours": quiet})

    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert pointer in error["pointer"]
    assert not NotificationPreferences.objects.exists()


def test_quiet_hours_without_a_zone_are_in_the_recipients(service: Client) -> None:
    body = put(
        service, {"opt_outs": [], "quiet_hours": {"start": "22:00", "end": "07:00"}}
    ).json()

    assert body["quiet_hours"] == {"start": "22:00", "end": "07:00", "time_zone": None}


def test_an_opt_out_decides_the_very_next_load(tenant: Tenant, service: Client) -> None:
    put(service, {"opt_outs": ["email"]})

    profile = load_profiles([(tenant.pk, "usr_42")])[tenant.pk, "usr_42"]
    decision = decide(
        Case(
            profile=profile,
            channel=Channel.EMAIL,
            category=known_category(Category.OTP),
            priority=Priority.HIGH,
            at=profile.read_at,
        )
    )

    assert profile.preference_version == 1
    assert decision.verdict is Verdict.SUPPRESS


def test_a_change_is_audited_with_its_version(tenant: Tenant, service: Client) -> None:
    put(service, {"opt_outs": ["email"]})
    put(service, {"opt_outs": ["sms"]}, '"0"')

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT actor, detail->'version', detail->'opt_outs' FROM audit_event"
            " WHERE tenant_id = %s AND kind = 'preferences.changed'",
            [tenant.pk],
        )
        assert cursor.fetchall() == [("service:billing", "1", '["email"]')]


def user(tenant: Tenant, user_id: str, audience: Audience) -> Client:
    token = issue_user_token(
        tenant_id=tenant.pk,
        user_id=user_id,
        audience=audience,
        lifetime=timedelta(minutes=5),
    )
    return Client(headers=authorization(token))


def test_a_user_changes_their_own_preferences(tenant: Tenant) -> None:
    own = user(tenant, "usr_42", Audience.PREFERENCES)

    assert put(own, {"opt_outs": ["push"]}).status_code == 200
    assert own.get(URL).json()["opt_outs"] == ["push"]


def test_another_user_tenant_or_audience_does_not(tenant: Tenant) -> None:
    another = user(tenant, "usr_43", Audience.PREFERENCES)
    inbox = user(tenant, "usr_42", Audience.INBOX)
    stranger = user(TenantFactory.create(), "usr_42", Audience.PREFERENCES)

    assert put(another, {"opt_outs": ["push"]}).status_code == 404
    assert put(inbox, {"opt_outs": ["push"]}).status_code == 401
    assert put(stranger, {"opt_outs": ["push"]}).status_code == 200
    assert not NotificationPreferences.objects.filter(tenant=tenant).exists()
