from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from preferences.models import Device
from preferences.profiles import load_profiles
from providers.channels import Channel
from tenants.models import Tenant
from tests.factories.preferences import RecipientFactory
from tests.factories.tenants import TenantFactory, api_key, authorization

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def service(tenant: Tenant) -> Client:
    return Client(headers=authorization(api_key(tenant)))


def register(
    client: Client, user_id: str, token: str = "tok-AAA", **headers: str
) -> Any:
    return client.post(
        f"/v1/users/{user_id}/devices",
        {"platform": "fcm", "token": token},
        content_type="application/json",
        headers=headers,
    )


def push_tokens(tenant: Tenant, user_id: str) -> list[str]:
    profile = load_profiles([(tenant.pk, user_id)])[tenant.pk, user_id]
    return [known.value for known in profile.addresses.get(Channel.PUSH, ())]


def test_a_device_is_registered_listed_and_removed(
    tenant: Tenant, service: Client
) -> None:
    created = register(service, "usr_201")
    listed = service.get("/v1/users/usr_201/devices").json()["items"]

    assert created.status_code == 201
    assert created.json()["id"].startswith("dev_")
    assert listed == [created.json()]
    assert "token" not in created.json()
    assert push_tokens(tenant, "usr_201") == ["tok-AAA"]

    device_id = created.json()["id"]
    removed = service.delete(f"/v1/users/usr_201/devices/{device_id}")
    again = service.delete(f"/v1/users/usr_201/devices/{device_id}")

    assert (removed.status_code, again.status_code) == (204, 404)
    assert push_tokens(tenant, "usr_201") == []


def test_registering_again_keeps_the_device(service: Client) -> None:
    created = register(service, "usr_201")

    seen = register(service, "usr_201")

    assert seen.status_code == 200
    assert seen.json()["id"] == created.json()["id"]
    assert Device.objects.count() == 1


def test_a_token_that_another_user_registers_moves_and_is_audited(
    tenant: Tenant, service: Client
) -> None:
    """O-PSH-1, bad input 98."""
    first = register(service, "usr_201").json()["id"]

    second = register(service, "usr_202")

    assert second.status_code == 201
    assert second.json()["id"] != first
    assert push_tokens(tenant, "usr_201") == []
    assert push_tokens(tenant, "usr_202") == ["tok-AAA"]
    assert service.delete(f"/v1/users/usr_201/devices/{first}").status_code == 404
    assert moves(tenant) == [("service:billing", first, second.json()["id"])]


def moves(tenant: Tenant) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT actor, detail->>'from_device', detail->>'to_device'"
            " FROM audit_event WHERE tenant_id = %s AND kind = 'device.moved'",
            [tenant.pk],
        )
        return list(cursor.fetchall())


def test_one_token_at_two_tenants_is_two_devices(
    tenant: Tenant, service: Client
) -> None:
    other = TenantFactory.create()
    stranger = Client(headers=authorization(api_key(other)))

    register(service, "usr_201")
    register(stranger, "usr_201")

    assert push_tokens(tenant, "usr_201") == ["tok-AAA"]
    assert push_tokens(other, "usr_201") == ["tok-AAA"]


def test_a_device_of_another_user_or_tenant_is_absent(service: Client) -> None:
    device_id = register(service, "usr_201").json()["id"]
    stranger = Client(headers=authorization(api_key(TenantFactory.create())))

    assert service.delete(f"/v1/users/usr_9/devices/{device_id}").status_code == 404
    assert stranger.delete(f"/v1/users/usr_201/devices/{device_id}").status_code == 404
    assert Device.objects.count() == 1


@pytest.mark.parametrize("device_id", ["dev_01M8P66PA7EG0B0C5HHQKE1G1D", "dev_x", "7"])
def test_an_unknown_device_is_absent(service: Client, device_id: str) -> None:
    register(service, "usr_201")

    response = service.delete(f"/v1/users/usr_201/devices/{device_id}")

    assert response.status_code == 404


def test_devices_of_an_unknown_user_are_absent(tenant: Tenant, service: Client) -> None:
    RecipientFactory.create(tenant=tenant, user_id="usr_1")

    assert service.get("/v1/users/usr_1/devices").json() == {"items": []}
    assert service.get("/v1/users/usr_2/devices").status_code == 404


def test_an_idempotency_key_gives_the_first_answer_again(service: Client) -> None:
    first = register(service, "usr_201", **{"Idempotency-Key": "k-1"})

    second = register(service, "usr_201", **{"Idempotency-Key": "k-1"})
    reused = register(service, "usr_201", "tok-BBB", **{"Idempotency-Key": "k-1"})

    assert (first.status_code, second.status_code) == (201, 201)
    assert second["Idempotent-Replayed"] == "true"
    assert second.json() == first.json()
    assert reused.status_code == 409
    assert Device.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"platform": "fcm"}, "/token"),
        ({"platform": "fcm", "token": ""}, "/token"),  # 98
        ({"platform": "fcm", "token": "x" * 10_000}, "/token"),  # 98
        ({"platform": "apns", "token": "abc"}, "/token"),  # 98
        ({"platform": "webpush", "token": "{}"}, "/token"),  # 97
        ({"platform": "pager", "token": "x"}, "/platform"),
        ({"platform": "fcm", "token": "x", "user_id": "usr_1"}, "/user_id"),
    ],
)
def test_bad_input_names_the_field(service: Client, body: Any, pointer: str) -> None:
    """Bad input 97, 98."""
    response = service.post(
        "/v1/users/usr_201/devices", body, content_type="application/json"
    )

    assert response.status_code == 422
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]
    assert not Device.objects.exists()


def test_the_token_lies_sealed_in_the_table(service: Client) -> None:
    register(service, "usr_201", "tok-AAA")

    device = Device.objects.get()

    assert b"tok-AAA" not in bytes(device.token) + bytes(device.key)
