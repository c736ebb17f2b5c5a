"""What a provider says of an address is remembered: the next message is not sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from foundation.ids import public_id
from tests.acme import (
    Api,
    deliveries,
    events,
    provider_settings,
    query,
    run_together,
    sandbox_calls,
)
from tests.stubs.fcm import FcmStub, fcm_error
from tests.stubs.fcm import refused as push_refused
from tests.stubs.http import Answer, HttpCall, HttpStep
from tests.stubs.smtp import Reply, SmtpStub
from tests.stubs.twilio import ACCOUNT_SID, TwilioStub, refused
from tests.texts import text

DEAD = push_refused(404, "NOT_FOUND", fcm_error("UNREGISTERED"))


@contextmanager
def texting(settings: Any) -> Iterator[TwilioStub]:
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "sms": "twilio_stub"}
    with TwilioStub() as stub:
        options = {
            "account_sid": ACCOUNT_SID,
            "auth_token": "secret",
            "sender": "+15005550006",
            "url": stub.origin,
        }
        backend = "providers.sms.twilio.TwilioAdapter"
        with provider_settings(twilio_stub={"BACKEND": backend, "OPTIONS": options}):
            yield stub


@contextmanager
def pushing(settings: Any) -> Iterator[FcmStub]:
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "push": "fcm_stub"}
    with FcmStub() as stub:
        options = {"service_account": stub.service_account(), "url": stub.origin}
        backend = "providers.push.fcm.FcmAdapter"
        with provider_settings(fcm_stub={"BACKEND": backend, "OPTIONS": options}):
            yield stub


def outcomes(notification_id: str) -> list[tuple[str, str]]:
    return [(row["status"], row["reason"]) for row in deliveries(notification_id)]


def entries() -> list[tuple[str, str]]:
    rows = query("SELECT reason, created_by FROM suppression WHERE lifted_at IS NULL")
    return [(row["reason"], row["created_by"]) for row in rows]


def register(api: Api, token: str, user_id: str = "usr_x", **told: str) -> str:
    path = f"/v1/users/{user_id}/devices"
    answer = api.post(path, {"platform": "fcm", "token": token, **told})
    assert answer.status_code in {200, 201}, answer.content
    device_id: str = answer.json()["id"]
    return device_id


def push(api: Api, key: str) -> str:
    return api.accept(
        idempotency_key=key, recipient={"user_id": "usr_x"}, channels=["push"]
    )


@pytest.mark.parametrize(
    ("code", "ends", "marked"),
    [
        (21614, "rejected_address", ("hard_bounce", "invalid")),
        (21610, "rejected_opt_out", ("stop", "suppressed")),
    ],
)
def test_a_number_that_takes_no_text_gets_one_call_and_no_second(
    api, settings, consume, code, ends, marked
):
    """O-SMS-4: permanent, remembered, and no business of the other channels."""
    reason, standing = marked
    api.put("/v1/users/usr_x", {"email": "x@example.com", "phone": "+84901234567"})
    with texting(settings) as stub:
        stub.always(refused(400, code))
        first = text(api, 1, phone=None, channels=["email", "sms"]).json()
        consume()
        second = text(api, 2, phone=None, channels=["email", "sms"]).json()
        # Named in the call, in another spelling: the number is the same.
        third = text(api, 3, phone="+84 (0) 901 234 567").json()
        consume()
        assert len(stub.calls) == 1

    assert outcomes(first["notification_id"]) == [("sent", ""), ("failed", ends)]
    assert "suppression.added" in events(first["notification_id"])
    assert outcomes(second["notification_id"]) == [("sent", ""), ("suppressed", reason)]
    assert outcomes(third["notification_id"]) == [("suppressed", reason)]
    assert entries() == [(reason, "worker")]
    assert query("SELECT 1 FROM dead_letter") == []
    addresses = api.get("/v1/users/usr_x").json()["addresses"]
    assert [each["status"] for each in addresses] == ["unverified", standing]


def test_a_provider_that_is_busy_marks_nothing(api, settings, consume, clock):
    """O-SMS-4: a 503 is tried again."""
    with texting(settings) as stub:
        stub.queue(refused(429, 20429))
        notification_id = text(api, 1).json()["notification_id"]
        consume()
        clock.advance(timedelta(minutes=1))
        consume()

    assert outcomes(notification_id) == [("sent", "")]
    assert entries() == []


def test_an_entry_that_is_lifted_lets_the_next_one_through(api, settings, consume):
    with texting(settings) as stub:
        stub.queue(refused(400, 21614))
        text(api, 1)
        consume()
        (entry,) = query("SELECT id FROM suppression")
        path = f"/v1/suppressions/{public_id('sup', entry['id'])}"
        assert api.client.delete(path, headers=api.headers).status_code == 204
        again = text(api, 2).json()["notification_id"]
        consume()

    assert outcomes(again) == [("sent", "")]


def test_a_mailbox_that_is_not_there_is_not_written_to_again(api, settings, consume):
    """One hard bounce is enough, for whoever has the address."""
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "email": "smtp_stub"}
    both = {"recipient": {"user_id": "usr_x", "email": "gone@example.com"}}
    with SmtpStub() as stub:
        options = {"url": stub.url, "sender": "no-reply@acme.example"}
        backend = "providers.email.smtp.SmtpAdapter"
        with provider_settings(smtp_stub={"BACKEND": backend, "OPTIONS": options}):
            stub.always("rcpt", Reply("550 5.1.1 No such user"))
            first = api.accept(idempotency_key="first", **both)
            consume()
            second = api.accept(idempotency_key="second", **both)
            consume()

    assert outcomes(first) == [("failed", "rejected_address")]
    assert outcomes(second) == [("suppressed", "hard_bounce")]


def test_mail_goes_to_the_next_address_where_the_first_is_dead(api, consume):
    addresses = [
        {"channel": "email", "value": value}
        for value in ("gone@example.com", "here@example.com")
    ]
    api.put("/v1/users/usr_x", {"addresses": addresses})
    first = api.accept(idempotency_key="first", recipient={"user_id": "usr_x"})
    entry = {"channel": "email", "address": "GONE@example.com"}
    api.post("/v1/suppressions", {**entry, "reason": "hard_bounce"})
    second = api.accept(idempotency_key="second", recipient={"user_id": "usr_x"})
    consume()

    assert outcomes(first) == [("suppressed", "hard_bounce")]
    assert outcomes(second) == [("sent", "")]
    (delivery,) = deliveries(second)
    assert [each["status"] for each in addresses_of(api)] == ["invalid", "unverified"]
    assert len(sandbox_calls(delivery["id"])) == 1


def addresses_of(api: Api) -> list[dict[str, Any]]:
    addresses: list[dict[str, Any]] = api.get("/v1/users/usr_x").json()["addresses"]
    return addresses


def test_a_stop_covers_every_spelling_of_a_number(api, acme, consume):
    """O-SMS-3: five spellings are one person, who gets one text and opts out once."""
    acme.default_region = "US"
    acme.sms_countries = "US"
    acme.save()
    spellings = ["+12025550143", "12025550143", "(202) 555-0143", "011 1 202 555 0143"]
    spellings.append("2025550143")
    before = text(api, "before", phone=spellings[1]).json()["notification_id"]
    consume()
    entry = {"channel": "sms", "address": spellings[0], "reason": "stop"}
    assert api.post("/v1/suppressions", entry).status_code == 201

    after = [text(api, n, phone=each).json() for n, each in enumerate(spellings)]

    assert len(outcomes(before)) == 1
    for answer in after:
        assert outcomes(answer["notification_id"]) == [("suppressed", "stop")]


def test_a_policy_refusal_says_nothing_of_the_mailbox(api, settings, consume):
    """O-EML-5's kind: what is about us, or may pass, is no dead mailbox."""
    settings.PROVIDER_ROUTES = {**settings.PROVIDER_ROUTES, "email": "smtp_stub"}
    with SmtpStub() as stub:
        options = {"url": stub.url, "sender": "no-reply@acme.example"}
        backend = "providers.email.smtp.SmtpAdapter"
        with provider_settings(smtp_stub={"BACKEND": backend, "OPTIONS": options}):
            for number, reply in enumerate(
                ["550 5.7.1 Spam", "550 Refused", "450 4.2.1 Later", "552 5.2.2 Full"]
            ):
                stub.queue("rcpt", Reply(reply))
                api.accept(
                    idempotency_key=f"key-{number}",
                    recipient={"user_id": "usr_x", "email": f"r{number}@example.com"},
                )
                consume()

    assert entries() == []


def test_what_the_sandbox_makes_up_is_not_remembered(api, consume):
    to = {"user_id": "usr_x", "email": "opted-out@simulate.example"}
    for key in ("first", "second"):
        notification_id = api.accept(idempotency_key=key, recipient=to)
        consume()
        assert outcomes(notification_id) == [("failed", "rejected_opt_out")]

    assert entries() == []


def test_a_push_reaches_each_device_and_a_retry_only_the_one_that_failed(
    api, settings, consume, clock
):
    tokens = ["phone", "tablet", "laptop"]
    for token in tokens:
        register(api, token)
    with pushing(settings) as stub:
        stub.decide = once_unavailable_for("tablet")
        notification_id = push(api, "first")
        consume()
        clock.advance(timedelta(minutes=5))
        consume()
        called = Counter(call.json["message"]["token"] for call in stub.sent)

    assert outcomes(notification_id) == [("sent", "")] * 3
    assert called == {"phone": 1, "tablet": 2, "laptop": 1}


def once_unavailable_for(token: str) -> Any:
    failed: list[HttpCall] = []

    def decide(call: HttpCall) -> HttpStep | None:
        if call not in failed and token.encode() in call.body and not failed:
            failed.append(call)
            return Answer(429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}})
        return None

    return decide


def test_a_device_that_its_provider_does_not_know_is_removed(api, settings, consume):
    """Bad input 98's other half: the next push goes to the devices that live."""
    register(api, "old-phone")
    kept = register(api, "new-phone")
    with pushing(settings) as stub:
        stub.decide = lambda call: DEAD if b"old-phone" in call.body else None
        first = push(api, "first")
        consume()
        second = push(api, "second")
        consume()
        called = Counter(call.json["message"]["token"] for call in stub.sent)

    assert sorted(outcomes(first)) == [("failed", "rejected_token"), ("sent", "")]
    assert "device.died" in events(first)
    assert outcomes(second) == [("sent", "")]
    assert called == {"old-phone": 1, "new-phone": 2}
    listed = api.get("/v1/users/usr_x/devices").json()["items"]
    assert [device["id"] for device in listed] == [kept]


def test_a_device_that_changed_hands_meanwhile_is_not_removed(api, settings, consume):
    """O-PSH-1: the provider's word was about the person before."""
    register(api, "shared-phone")
    with pushing(settings) as stub:
        stub.decide = lambda call: hand_over_and_refuse(api, call)
        push(api, "first")
        consume()

    listed = api.get("/v1/users/usr_y/devices").json()["items"]
    assert len(listed) == 1


def hand_over_and_refuse(api: Api, call: HttpCall) -> HttpStep | None:
    if b"shared-phone" not in call.body:
        return None
    # The stub's thread has a loop, in which Django asks no database.
    results = run_together(partial(register, api, "shared-phone", user_id="usr_y"))
    assert isinstance(results[0], str)
    return DEAD
