from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from preferences.models import Address, Recipient
from tenants.models import Tenant
from tests.factories.tenants import TenantFactory, api_key, authorization

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create(default_region="VN")


@pytest.fixture
def service(tenant: Tenant) -> Client:
    return Client(headers=authorization(api_key(tenant)))


def save(client: Client, users: Iterable[object], **headers: str) -> Any:
    return client.post(
        "/v1/users",
        {"users": list(users)},
        content_type="application/json",
        headers=headers,
    )


def people(number: int, **fields: Any) -> list[dict[str, Any]]:
    return [
        {"user_id": f"usr_{at:04}", "email": f"usr_{at:04}@example.com", **fields}
        for at in range(number)
    ]


def outcomes(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [result["outcome"] for result in response.json()["results"]]


def test_each_person_of_a_call_has_a_result_of_their_own(service: Client) -> None:
    save(service, [{"user_id": "usr_1", "locale": "vi"}, {"user_id": "usr_2"}])

    answer = save(
        service,
        [
            {"user_id": "usr_1", "locale": "vi"},
            {"user_id": "usr_2", "phone": "0912 345 678"},
            {"user_id": "usr_3", "email": "a@b.co, c@d.co"},
            {"user_id": "usr_4", "email": "an@example.com"},
            {"user_id": "usr_4", "email": "binh@example.com"},
            {"locale": "vi"},
            "usr_5",
            {"user_id": "no spaces"},
        ],
    )

    assert outcomes(answer) == [
        "unchanged",
        "updated",
        "refused",
        "created",
        "refused",
        "refused",
        "refused",
        "refused",
    ]
    results = answer.json()["results"]
    assert [result["user_id"] for result in results] == [
        "usr_1",
        "usr_2",
        "usr_3",
        "usr_4",
        "usr_4",
        None,
        None,
        "no spaces",
    ]
    assert [error["pointer"] for result in results for error in result["errors"]] == [
        "/users/2/email",
        "/users/4/user_id",
        "/users/5/user_id",
        "/users/6",
        "/users/7/user_id",
    ]
    assert service.get("/v1/users/usr_2").json()["phone"] == "+84912345678"
    assert service.get("/v1/users/usr_4").json()["email"] == "an@example.com"
    assert service.get("/v1/users/usr_3").status_code == 404


def test_a_person_who_is_null_keeps_nobody_else_from_being_saved(
    service: Client,
) -> None:
    answer = save(service, [None, *people(1)])

    assert outcomes(answer) == ["refused", "created"]
    (error,) = answer.json()["results"][0]["errors"]
    assert error["pointer"] == "/users/0"


def test_a_thousand_people_take_as_many_statements_as_one(service: Client) -> None:
    with CaptureQueriesContext(connection) as one:
        save(service, people(1, locale="vi"))
    with CaptureQueriesContext(connection) as many:
        answer = save(service, people(1_000, locale="en"))

    assert outcomes(answer) == ["updated", *["created"] * 999]
    assert len(many) <= len(one) + 1
    assert Recipient.objects.filter(locale="en").count() == 1_000
    assert Address.objects.count() == 1_000


def test_a_person_has_so_many_addresses_that_each_can_be_told_of(
    service: Client,
) -> None:
    """An answer is no larger than its question by any factor."""
    many = {"user_id": "usr_1", "addresses": [0] * 100_000}

    answer = save(service, [many])

    (error,) = answer.json()["results"][0]["errors"]
    assert error["pointer"] == "/users/0/addresses"


def test_people_who_are_as_told_are_left_alone(service: Client) -> None:
    save(service, people(3, phone="0912345678", time_zone="Asia/Ho_Chi_Minh"))
    before = list(Recipient.objects.order_by("id").values())
    addresses = list(Address.objects.order_by("id").values())

    again = save(service, people(3, phone="0912345678", time_zone="Asia/Ho_Chi_Minh"))

    assert outcomes(again) == ["unchanged"] * 3
    assert list(Recipient.objects.order_by("id").values()) == before
    assert list(Address.objects.order_by("id").values()) == addresses


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"users": []}, "/users"),
        ({"users": people(1_001)}, "/users"),
        ({"users": "usr_1"}, "/users"),
        ({}, "/users"),
        ({"users": people(1), "mode": "merge"}, "/mode"),
    ],
)
def test_a_call_that_is_none_saves_nobody(
    service: Client, body: Any, pointer: str
) -> None:
    answer = service.post("/v1/users", body, content_type="application/json")

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert not Recipient.objects.exists()


def test_a_list_may_be_larger_than_other_bodies_but_not_by_any_size(
    service: Client,
) -> None:
    padded = people(1_000, locale="vi-VN", time_zone="Asia/Ho_Chi_Minh")
    for user in padded:
        user["email"] = f"{user['user_id']}.{'x' * 50}@{'long.' * 30}example.com"

    assert set(outcomes(save(service, padded))) == {"created"}

    answer = save(service, [*padded, {"user_id": "x" * 1_000_000}])
    assert answer.status_code == 413
    assert "1024 kB" in answer.json()["detail"]


def test_a_repeated_call_with_its_key_gets_the_first_answer(service: Client) -> None:
    first = save(service, people(2), **{"Idempotency-Key": "sync-1"})
    again = save(service, people(2), **{"Idempotency-Key": "sync-1"})
    other = save(service, people(3), **{"Idempotency-Key": "sync-1"})

    assert outcomes(first) == outcomes(again) == ["created", "created"]
    assert again["Idempotent-Replayed"] == "true"
    assert other.status_code == 409
    assert Recipient.objects.count() == 2


def test_everybody_is_listed_a_page_at_a_time(service: Client) -> None:
    save(service, people(5, country="VN"))
    stranger = Client(headers=authorization(api_key(TenantFactory.create())))
    save(stranger, [{"user_id": "usr_0002x"}])

    seen: list[str] = []
    page: dict[str, Any] = {"next_cursor": None}
    while page["next_cursor"] or not seen:
        at = {"cursor": page["next_cursor"]} if seen else {}
        page = service.get("/v1/users", {"limit": 2, **at}).json()
        seen += [person["user_id"] for person in page["items"]]

    assert seen == [f"usr_{at:04}" for at in range(5)]
    assert page["items"][0]["email"] == "usr_0004@example.com"


def test_a_page_of_people_takes_as_many_queries_as_a_page_of_one(
    service: Client,
) -> None:
    save(service, people(20, phone="0912345678"))

    service.get("/v1/users", {"limit": 1})  # the tenant's keys are known after it

    with CaptureQueriesContext(connection) as one:
        service.get("/v1/users", {"limit": 1})
    with CaptureQueriesContext(connection) as all_of_them:
        service.get("/v1/users", {"limit": 20})

    assert len(all_of_them) == len(one)


@pytest.mark.parametrize(
    ("query", "status"),
    [({"limit": 0}, 422), ({"limit": 1_001}, 422), ({"cursor": "no spaces"}, 400)],
)
def test_a_page_that_is_none_is_refused(
    service: Client, query: dict[str, Any], status: int
) -> None:
    assert service.get("/v1/users", query).status_code == status


def test_an_address_that_cannot_be_opened_is_in_nobodys_way(service: Client) -> None:
    """Neither when others are saved and listed, nor when its own person is saved."""
    save(service, people(3))
    Address.objects.filter(recipient__user_id="usr_0001").update(normalised=b"no seal")

    listed = service.get("/v1/users").json()["items"]
    again = save(service, people(3))

    assert [person["email"] for person in listed] == [
        "usr_0000@example.com",
        None,
        "usr_0002@example.com",
    ]
    assert outcomes(again) == ["unchanged", "updated", "unchanged"]
    person = service.get("/v1/users/usr_0001").json()
    assert person["email"] == "usr_0001@example.com"


def test_a_refusal_does_not_say_what_stood_in_place_of_a_channel(
    service: Client,
) -> None:
    """Answers are kept with their keys, and hold no addresses."""
    swapped = {"channel": "an@home.example", "value": "email"}

    answer = save(service, [{"user_id": "usr_1", "addresses": [swapped]}])

    (result,) = answer.json()["results"]
    assert result["errors"] == [
        {
            "pointer": "/users/0/addresses/0/channel",
            "detail": "It is email or sms.",
        }
    ]
