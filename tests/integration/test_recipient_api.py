from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from preferences.models import Address, Recipient
from tenants.models import Tenant
from tests.factories.tenants import TenantFactory, api_key, authorization

pytestmark = pytest.mark.usefixtures("db")

EMAIL = {"channel": "email", "value": "an@example.com"}


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create(default_region="US")


@pytest.fixture
def service(tenant: Tenant) -> Client:
    return Client(headers=authorization(api_key(tenant)))


def put(client: Client, body: Any, *, user_id: str = "usr_120") -> Any:
    return client.put(f"/v1/users/{user_id}", body, content_type="application/json")


def pointers(response: Any) -> list[str]:
    assert response.status_code == 422, response.content
    assert response["Content-Type"] == "application/problem+json"
    return [error["pointer"] for error in response.json()["errors"]]


def test_a_person_is_created_then_replaced_and_reads_back(service: Client) -> None:
    person = {
        "locale": "vi-vn",
        "time_zone": "Asia/Ho_Chi_Minh",
        "email": " An@EXAMPLE.com",
        "phone": "(202) 555-0143",
    }

    created = put(service, person)
    repeated = put(service, person)
    read = service.get("/v1/users/usr_120")

    assert (created.status_code, repeated.status_code) == (201, 200)
    body = read.json()
    assert body["user_id"] == "usr_120"
    assert (body["locale"], body["time_zone"]) == ("vi-VN", "Asia/Ho_Chi_Minh")
    assert (body["email"], body["phone"]) == ("An@example.com", "+12025550143")
    assert body["addresses"] == [
        {
            "channel": "email",
            "value": "An@example.com",
            "typed": " An@EXAMPLE.com",
            "status": "unverified",
        },
        {
            "channel": "sms",
            "value": "+12025550143",
            "typed": "(202) 555-0143",
            "status": "unverified",
        },
    ]
    assert {**repeated.json(), "updated_at": None} == {
        **created.json(),
        "updated_at": None,
    }


def test_another_spelling_of_an_address_keeps_its_row(service: Client) -> None:
    """O-SMS-3: one number, one address, and what was typed last."""
    put(service, {"phone": "+12025550143"})
    first = Address.objects.get()

    for spelling in ["12025550143", "011 1 202 555 0143", "2025550143"]:
        body = put(service, {"phone": spelling}).json()
        assert body["phone"] == "+12025550143"
        assert body["addresses"][0]["typed"] == spelling

    assert Address.objects.get().id == first.id


def test_another_address_is_another_row(service: Client) -> None:
    put(service, {"email": "old@example.com"})
    first = Address.objects.get()

    put(service, {"email": "new@example.com"})

    assert Address.objects.get().id != first.id


def test_what_a_put_leaves_out_is_forgotten(service: Client) -> None:
    put(service, {"locale": "vi", "email": "an@example.com", "phone": "2025550143"})

    body = put(service, {"email": None}).json()

    assert (body["locale"], body["email"], body["phone"]) == (None, None, None)
    assert not Address.objects.exists()


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"locale": "../../x"}, "/locale"),  # 54
        ({"locale": ""}, "/locale"),
        ({"locale": 7}, "/locale"),
        ({"time_zone": "Mars/X"}, "/time_zone"),  # 27
        ({"country": "Vietnam"}, "/country"),
        ({"country": "ZZ"}, "/country"),
        ({"country": ""}, "/country"),
        ({"email": "a@b.co, c@d.co"}, "/email"),  # 68
        ({"email": "a@b.co\r\nBcc: x@y.co"}, "/email"),  # 69
        ({"email": ["a@b.co"]}, "/email"),
        ({"phone": "+1 202 555"}, "/phone"),  # O-SMS-3
        ({"phone": "+1 900 555 0123"}, "/phone"),  # 57
        ({"phone": 12025550143}, "/phone"),
        ({"tenant_id": 2}, "/tenant_id"),  # 13
        ({"e-mail": "a@b.co"}, "/e-mail"),  # 14
        ({"__proto__": {}}, "/__proto__"),  # 14
        ([], ""),
    ],
)
def test_bad_input_names_the_field_and_stores_nothing(
    service: Client, body: Any, pointer: str
) -> None:
    """Bad input 13, 14, 27, 54, 57, 68, 69."""
    assert pointers(put(service, body)) == [pointer]
    assert not Recipient.objects.exists()


@pytest.mark.parametrize(
    ("addresses", "pointer"),
    [
        ([{"channel": "push", "value": "x"}], "/addresses/0/channel"),
        ([{"channel": "email"}], "/addresses/0/value"),
        (
            [EMAIL, {"channel": "email", "value": "AN@example.com"}],
            "/addresses/1/value",
        ),
        ([EMAIL, {"channel": "sms", "value": "113"}], "/addresses/1/value"),
        ([{**EMAIL, "verified": "yes"}], "/addresses/0/verified"),
        ([{**EMAIL, "status": "verified"}], "/addresses/0/status"),
        ("an@example.com", "/addresses"),
        (["an@example.com"], "/addresses/0"),
        (
            [{"channel": "email", "value": f"{at}@b.co"} for at in range(11)],
            "/addresses/10/value",
        ),
    ],
)
def test_a_bad_address_of_several_is_named_by_its_place(
    service: Client, addresses: Any, pointer: str
) -> None:
    assert pointers(put(service, {"addresses": addresses})) == [pointer]
    assert not Recipient.objects.exists()


def test_one_address_and_several_are_not_given_at_once(service: Client) -> None:
    both = {"email": "an@example.com", "phone": "2025550143", "addresses": [EMAIL]}

    assert pointers(put(service, both)) == ["/email", "/phone"]


def test_several_addresses_keep_their_order_and_what_is_known_of_them(
    service: Client,
) -> None:
    home = {"channel": "email", "value": "an@home.example"}
    work = {"channel": "email", "value": "an@work.example"}
    phone = {"channel": "sms", "value": "2025550143", "verified": True}
    put(service, {"addresses": [{**home, "verified": True}, work, phone]})
    ids = dict(Address.objects.values_list("position", "id").filter(channel=1))

    body = put(service, {"addresses": [work, phone, home]}).json()

    assert (body["email"], body["phone"]) == ("an@work.example", "+12025550143")
    assert [(each["value"], each["status"]) for each in body["addresses"]] == [
        ("an@work.example", "unverified"),
        ("an@home.example", "verified"),
        ("+12025550143", "verified"),
    ]
    kept = dict(Address.objects.values_list("position", "id").filter(channel=1))
    assert kept == {0: ids[1], 1: ids[0]}

    body = put(service, {"addresses": [{**home, "verified": False}]}).json()

    assert [(each["value"], each["status"]) for each in body["addresses"]] == [
        ("an@home.example", "unverified")
    ]


def test_a_number_without_a_country_code_is_read_in_the_persons_country(
    service: Client,
) -> None:
    body = put(service, {"country": "vn", "phone": "0912 345 678"}).json()

    assert (body["country"], body["phone"]) == ("VN", "+84912345678")
    assert put(service, {"phone": "202 555 0143"}).json()["phone"] == "+12025550143"
    assert service.get("/v1/users/usr_120").json()["country"] is None


def test_a_bare_number_is_refused_where_the_tenant_has_no_region() -> None:
    """O-SMS-3."""
    client = Client(
        headers=authorization(api_key(TenantFactory.create(default_region="")))
    )

    assert pointers(put(client, {"phone": "2025550143"})) == ["/phone"]


@pytest.mark.parametrize("user_id", ["a b", "a%00", "a%2Fb", "x" * 129, "tên"])
def test_a_malformed_user_id_is_refused(service: Client, user_id: str) -> None:
    """Bad input 33."""
    assert put(service, {}, user_id=user_id).status_code in {404, 422}
    assert not Recipient.objects.exists()


def test_every_permitted_character_makes_a_user_id(service: Client) -> None:
    user_id = "AZaz09._:@-"

    assert put(service, {}, user_id=user_id).status_code == 201
    assert service.get(f"/v1/users/{user_id}").json()["user_id"] == user_id


def test_an_unknown_person_and_another_tenants_are_both_absent(service: Client) -> None:
    stranger = Client(headers=authorization(api_key(TenantFactory.create())))
    put(stranger, {"email": "an@example.com"}, user_id="usr_7")

    foreign = service.get("/v1/users/usr_7")
    unknown = service.get("/v1/users/usr_8")

    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert {**foreign.json(), "instance": "", "request_id": ""} == {
        **unknown.json(),
        "instance": "",
        "request_id": "",
    }


def test_two_tenants_know_one_user_id_apart(service: Client) -> None:
    stranger = Client(headers=authorization(api_key(TenantFactory.create())))
    put(service, {"email": "ours@example.com"})
    put(stranger, {"email": "theirs@example.com"})

    assert service.get("/v1/users/usr_120").json()["email"] == "ours@example.com"
    assert stranger.get("/v1/users/usr_120").json()["email"] == "theirs@example.com"


def test_reading_and_writing_take_their_scopes(tenant: Tenant, service: Client) -> None:
    put(service, {})
    reader = Client(headers=authorization(api_key(tenant, scopes=["recipients:read"])))

    assert reader.get("/v1/users/usr_120").status_code == 200
    assert put(reader, {}).status_code == 403
    assert Client().get("/v1/users/usr_120").status_code == 401


def test_addresses_lie_sealed_in_the_table(service: Client) -> None:
    put(service, {"email": "An@EXAMPLE.com", "phone": "2025550143"})

    for address in Address.objects.all():
        for column in (address.typed, address.normalised, address.key):
            held = bytes(column).lower()
            assert b"example" not in held
            assert b"2025550143" not in held


def test_one_address_has_one_key_in_a_tenant_and_another_in_the_next(
    service: Client,
) -> None:
    stranger = Client(headers=authorization(api_key(TenantFactory.create())))
    put(service, {"email": "An@example.com"}, user_id="usr_1")
    put(service, {"email": "an@EXAMPLE.COM"}, user_id="usr_2")
    put(stranger, {"email": "an@example.com"}, user_id="usr_1")

    keys = [
        bytes(key)
        for key in Address.objects.order_by("id").values_list("key", flat=True)
    ]

    assert keys[0] == keys[1]  # bad input 74
    assert keys[0] != keys[2]


def test_a_plus_tag_is_another_person(service: Client) -> None:
    """O-EML-3."""
    put(service, {"email": "r3+news@example.com"}, user_id="usr_1")
    put(service, {"email": "r3@example.com"}, user_id="usr_2")

    assert service.get("/v1/users/usr_1").json()["email"] == "r3+news@example.com"
    assert Address.objects.values("key").distinct().count() == 2
