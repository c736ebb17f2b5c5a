"""Read back what a test key would have sent."""

from __future__ import annotations

from django.test import Client

from tests.acme import Api
from tests.factories.tenants import TenantFactory, api_key, authorization

PATH = "/v1/sandbox/messages"


def test_the_sandbox_shows_whom_it_would_have_reached_with_what(api, consume):
    notification_id = api.accept(channels=["email", "sms"])
    consume()

    page = api.get(PATH, notification_id=notification_id).json()

    found = {item["channel"]: item for item in page["items"]}
    assert found["email"]["address"] == "an@example.com"
    assert found["email"]["parts"]["subject"] == "Hóa đơn 125.00 USD sắp đến hạn"
    assert found["sms"]["address"] == "+84912345678"
    assert found["sms"]["outcome"] == "accepted"
    assert page["next_cursor"] is None


def test_pages_follow_each_other_without_gap_or_repeat(api, consume):
    for number in range(5):
        api.accept(idempotency_key=f"key-{number}")
    consume()

    seen, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = api.get(PATH, **query).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert len(seen) == len(set(seen)) == 5
    assert seen == sorted(seen, reverse=True)


def test_another_tenant_sees_nothing_of_it(api, consume):
    api.accept()
    consume()
    stranger = Api(Client(), authorization(api_key(TenantFactory.create())))

    assert stranger.get(PATH).json()["items"] == []


def test_a_damaged_cursor_and_a_wrong_limit_are_refused(api):
    assert api.get(PATH, cursor="x").status_code == 400
    assert api.get(PATH, limit=0).status_code == 422
