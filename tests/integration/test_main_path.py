"""One notification from the 202 to the person."""

from __future__ import annotations

from datetime import timedelta

from django.test import Client

from providers.channels import Channel
from tests.acme import Api, deliveries, events, query, sandbox_calls
from tests.factories.templates import ApprovedVersionFactory, TemplateFactory
from tests.factories.tenants import api_key, authorization

ALL_CHANNELS = ["email", "sms", "push", "in_app"]
LONGEST_BACK_OFF = timedelta(minutes=15)


def test_a_notification_goes_out_on_every_channel(api, consume):
    notification_id = api.accept(channels=ALL_CHANNELS)
    assert api.standing(notification_id)["status"] == "accepted"

    consume()

    standing = api.standing(notification_id)
    assert standing["status"] == "completed"
    assert [known["status"] for known in standing["channels"]] == ["sent"] * 4
    assert events(notification_id) == ["notification.accepted", *["delivery.sent"] * 4]


def test_each_provider_call_is_made_once_with_the_persons_own_address(api, consume):
    notification_id = api.accept(channels=["email", "sms", "push"])

    consume()

    for delivery in deliveries(notification_id):
        assert len(sandbox_calls(delivery["id"])) == 1
        assert delivery["attempt_count"] == 1


def test_the_person_reads_it_in_the_inbox_in_their_language(api, consume):
    api.accept(channels=["in_app"])

    consume()

    inbox = api.get("/v1/users/usr_an/inbox").json()
    assert [item["title"] for item in inbox["items"]] == ["Hóa đơn của bạn sắp đến hạn"]
    assert inbox["unread_count"] == 1


def test_a_scheduled_notification_is_not_sent_before_its_date(api, consume, clock):
    later = clock.now() + timedelta(days=300)
    notification_id = api.accept(send_at=later.isoformat())

    consume()
    standing = api.standing(notification_id)
    assert standing["status"] == "scheduled"
    assert standing["channels"][0]["waiting_for"] == "schedule"

    clock.advance(later - clock.now())
    consume()
    assert api.standing(notification_id)["status"] == "completed"


def test_a_transient_fault_is_retried_under_the_same_id(api, consume, clock):
    notification_id = api.accept(
        recipient={"user_id": "usr_x", "email": "transient+2@simulate.example"}
    )
    consume()
    waiting = api.standing(notification_id)["channels"][0]
    assert (waiting["status"], waiting["waiting_for"]) == ("pending", "retry")

    for _ in range(2):
        clock.advance(LONGEST_BACK_OFF)
        consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["attempt_count"]) == ("sent", 3)
    assert events(notification_id)[1:] == [
        "delivery.retried",
        "delivery.retried",
        "delivery.sent",
    ]


def test_a_test_key_reaches_the_sandbox_and_nobody_else(acme, consume):
    test_api = Api(Client(), authorization(api_key(acme, is_test=True)))
    notification_id = test_api.accept(channels=["in_app"])

    consume()

    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["provider"]) == ("sent", "sandbox")
    assert query("SELECT 1 FROM inbox_item") == []


def test_what_is_personal_is_ciphertext(api, consume):
    api.accept(
        variables={"amount": "canary-4711", "currency": "USD", "due_date": "x"},
        recipient={"user_id": "usr_x", "email": "canary@example.com"},
    )
    consume()

    for table in ("notification_content", "delivery", "sandbox_message", "audit_event"):
        rows = query(f"SELECT t::text AS row FROM {table} t")
        assert rows
        assert not any("canary" in row["row"] for row in rows)


def test_dates_are_written_in_the_zone_of_whoever_reads_them(api, acme, consume):
    ApprovedVersionFactory.create(
        template=TemplateFactory.create(tenant=acme, name="reminder"),
        schema={"type": "object", "properties": {"at": {"type": "string"}}},
        contents={Channel.IN_APP: {"en": {"title": "Soon", "body": "{{ at|time }}"}}},
    )
    for user_id in ("usr_carol", "usr_nobody"):
        api.accept(
            idempotency_key=user_id,
            recipient={"user_id": user_id},
            template={"name": "reminder"},
            variables={"at": "2026-08-19T17:30:00Z"},
            channels=["in_app"],
        )

    consume()

    # One lives in London; of the other nothing is known, and the tenant is in Hanoi.
    for user_id, said in (("usr_carol", "6:30 PM"), ("usr_nobody", "12:30 AM")):
        (item,) = api.get(f"/v1/users/{user_id}/inbox").json()["items"]
        assert item["body"].replace("\u202f", " ") == said
