from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from foundation.ids import public_id
from inbox.models import InboxItem
from tenants.models import Tenant
from tenants.scopes import Audience
from tenants.user_tokens import issue_user_token
from tests.database_clock import Clock
from tests.factories.inbox import InboxItemFactory
from tests.factories.tenants import TenantFactory, api_key, authorization

pytestmark = pytest.mark.usefixtures("db")

URL = "/v1/users/usr_42/inbox"


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def service(tenant: Tenant) -> Client:
    return Client(headers=authorization(api_key(tenant)))


def add(tenant: Tenant, user_id: str = "usr_42", **fields: Any) -> InboxItem:
    return InboxItemFactory.create(tenant_id=tenant.pk, user_id=user_id, **fields)


def read(client: Client, item: InboxItem, **headers: str) -> Any:
    return read_by_id(client, public_id("msg", item.id), **headers)


def read_by_id(client: Client, message_id: str, **headers: str) -> Any:
    return client.post(
        f"{URL}/{message_id}/read", content_type="application/json", headers=headers
    )


def test_an_empty_inbox_is_a_page(service: Client) -> None:
    assert service.get(URL).json() == {
        "items": [],
        "next_cursor": None,
        "unread_count": 0,
    }


def test_a_message_shows_its_content(tenant: Tenant, service: Client) -> None:
    item = add(tenant, title="Hóa đơn", body="Đã sẵn sàng", link="/invoices/17")

    (shown,) = service.get(URL).json()["items"]

    assert shown.pop("created_at").endswith("Z")
    assert shown == {
        "id": public_id("msg", item.id),
        "title": "Hóa đơn",
        "body": "Đã sẵn sàng",
        "link": "/invoices/17",
        "read_at": None,
    }


def test_messages_of_one_moment_are_each_shown_once(
    tenant: Tenant, service: Client, clock: Clock
) -> None:
    """O-INB-1."""
    moment = clock.now()
    originals = [
        add(tenant, created_at=moment if number % 2 else moment + timedelta(number))
        for number in range(120)
    ]

    seen: list[str] = []
    cursor, arrived = "", 0
    while True:
        page = service.get(f"{URL}?limit=50{cursor}").json()
        seen += [item["id"] for item in page["items"]]
        assert page["unread_count"] == 120 + arrived
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
        arrived += len([add(tenant) for _ in range(3)])

    assert seen == [public_id("msg", item.id) for item in reversed(originals)]
    assert len(service.get(f"{URL}?limit=200").json()["items"]) == 120 + arrived


@pytest.mark.parametrize("limit", ["0", "-1", "201", "1000000000", "abc", "1.5"])
def test_an_odd_limit_names_the_field(service: Client, limit: str) -> None:
    """Bad input 29, O-INB-1."""
    response = service.get(f"{URL}?limit={limit}")

    assert response.status_code == 422
    assert [error["pointer"] for error in response.json()["errors"]] == ["/limit"]


def test_a_cursor_of_another_inbox_or_damaged_is_bad(
    tenant: Tenant, service: Client
) -> None:
    """Bad input 28, O-INB-1."""
    for user_id in ("usr_42", "usr_43"):
        add(tenant, user_id)
        add(tenant, user_id)
    own = service.get(f"{URL}?limit=1").json()["next_cursor"]
    foreign = service.get("/v1/users/usr_43/inbox?limit=1").json()["next_cursor"]
    stranger = Client(headers=authorization(api_key(TenantFactory.create())))

    assert service.get(f"{URL}?cursor={own}").status_code == 200
    assert stranger.get(f"{URL}?cursor={own}").status_code == 400
    for cursor in (foreign, own[:-1], own + "A", own.swapcase(), "%00", "%F0%9F%98%80"):
        assert service.get(f"{URL}?cursor={cursor}").status_code in {400, 422}


def test_reading_keeps_the_first_time(
    tenant: Tenant, service: Client, clock: Clock
) -> None:
    """Bad input 30, O-INB-2."""
    item = add(tenant)

    first = read(service, item)
    clock.advance(timedelta(hours=1))
    second = read(service, item)

    assert first.status_code == second.status_code == 200
    assert first.json() == second.json()
    assert first.json()["id"] == public_id("msg", item.id)
    page = service.get(URL).json()
    assert page["unread_count"] == 0
    assert page["items"][0]["read_at"] == first.json()["read_at"]


def test_a_message_of_another_user_or_tenant_is_absent(
    tenant: Tenant, service: Client
) -> None:
    """Bad input 30, O-INB-2."""
    other_user, other_tenant = add(tenant, "usr_43"), add(TenantFactory.create())

    assert read(service, other_user).status_code == 404
    assert read(service, other_tenant).status_code == 404
    assert not InboxItem.objects.filter(read_at__isnull=False).exists()


@pytest.mark.parametrize("message_id", ["msg_01M8P66Q20EN990QTJ7CGC9EHX", "msg_x", "7"])
def test_an_unknown_message_is_absent(service: Client, message_id: str) -> None:
    assert read_by_id(service, message_id).status_code == 404


def test_the_counter_is_the_number_of_unread_rows_after_any_order_of_actions(
    tenant: Tenant, service: Client
) -> None:
    """O-INB-2."""
    items = [add(tenant) for _ in range(4)]

    read(service, items[0])
    read(service, items[0])
    read(service, items[1])
    InboxItem.objects.filter(id=items[1].id).delete()
    InboxItem.objects.filter(id=items[2].id).delete()
    add(tenant)

    assert service.get(URL).json()["unread_count"] == 2


def test_an_idempotency_key_is_taken(tenant: Tenant, service: Client) -> None:
    item = add(tenant)

    first = read(service, item, **{"Idempotency-Key": "k-1"})
    second = read(service, item, **{"Idempotency-Key": "k-1"})

    assert first.json() == second.json()
    assert second["Idempotent-Replayed"] == "true"


def user(tenant: Tenant, user_id: str, audience: Audience) -> Client:
    token = issue_user_token(
        tenant_id=tenant.pk,
        user_id=user_id,
        audience=audience,
        lifetime=timedelta(minutes=5),
    )
    return Client(headers=authorization(token))


def test_a_user_reads_their_own_inbox_and_no_other(tenant: Tenant) -> None:
    item = add(tenant)
    own = user(tenant, "usr_42", Audience.INBOX)

    assert len(own.get(URL).json()["items"]) == 1
    assert read(own, item).status_code == 200
    assert user(tenant, "usr_43", Audience.INBOX).get(URL).status_code == 404
    assert user(tenant, "usr_42", Audience.PREFERENCES).get(URL).status_code == 401
    assert (
        user(TenantFactory.create(), "usr_42", Audience.INBOX).get(URL).json()["items"]
        == []
    )


def test_reading_and_marking_take_their_scopes(tenant: Tenant) -> None:
    item = add(tenant)
    reader = Client(headers=authorization(api_key(tenant, scopes=["inbox:read"])))

    assert reader.get(URL).status_code == 200
    assert read(reader, item).status_code == 403
    assert Client().get(URL).status_code == 401


def test_the_page_lets_nothing_foreign_run_or_frame_it() -> None:
    response = Client().get("/inbox/usr_42")

    assert response.status_code == 200
    assert "script-src 'self'" in response["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
    assert response["Referrer-Policy"] == "no-referrer"
    assert response["Cache-Control"] == "no-store"
    assert Client().get("/inbox/not a user").status_code == 404
