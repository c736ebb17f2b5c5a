"""The suppression list: by hash of an address, obeyed when accepting and claiming."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from audit.models import AuditEvent
from foundation.ids import public_id
from preferences.address_keys import address_key
from preferences.held import Held, Reason
from preferences.models import Suppression
from preferences.suppression import Entry, add_suppression, find_suppressions
from providers.channels import Channel
from tenants.models import Tenant
from tests.acme import Api, deliveries, query
from tests.factories.tenants import (
    TenantCategoryFactory,
    TenantFactory,
    api_key,
    authorization,
)

URL = "/v1/suppressions"


@pytest.fixture
def tenant(db: None) -> Tenant:
    return TenantFactory.create()


@pytest.fixture
def service(tenant: Tenant) -> Client:
    return Client(headers=authorization(api_key(tenant)))


def add(service: Client, **entry: Any) -> Any:
    body = {"channel": "email", "address": "An@example.com", "reason": "complaint"}
    return service.post(URL, {**body, **entry}, content_type="application/json")


def held(tenant: Tenant, address: str, channel: Channel = Channel.EMAIL) -> Any:
    key = address_key(tenant_id=tenant.pk, channel=channel, value=address)
    place = (tenant.pk, channel.value, key)
    return list(find_suppressions([place]).get(place, ()))


def suppress(tenant: Tenant, address: str, reason: Reason, category: str = "") -> None:
    channel = Channel.EMAIL if "@" in address else Channel.SMS
    add_suppression(
        Entry(
            tenant_id=tenant.pk,
            channel=channel,
            key=address_key(tenant_id=tenant.pk, channel=channel, value=address),
            held=Held(reason=reason, category=category),
            actor="service:billing",
        )
    )


def test_an_address_is_held_in_every_spelling_and_kept_in_none(
    tenant: Tenant, service: Client
) -> None:
    """O-SMS-3, bad input 74."""
    answer = add(service, channel="sms", address="0912 345 678", reason="stop")

    assert answer.status_code == 201
    assert held(tenant, "+84912345678", Channel.SMS) == [Held(reason=Reason.STOP)]
    assert "912" not in str(query("SELECT s::text FROM suppression s"))
    add(service, address="AN@EXAMPLE.com")
    assert held(tenant, "an@example.com") == [Held(reason=Reason.COMPLAINT)]


def test_the_same_entry_again_is_the_same(tenant: Tenant, service: Client) -> None:
    first, second = add(service).json(), add(service).json()

    assert first == second
    assert Suppression.objects.count() == 1
    trail = AuditEvent.objects.get(tenant_id=tenant.pk, kind="suppression.added")
    assert trail.detail["reason"] == "complaint"


def test_lifting_opens_it_again_and_the_trail_keeps_both(
    tenant: Tenant, service: Client
) -> None:
    entry = add(service).json()

    assert service.delete(f"{URL}/{entry['id']}").status_code == 204
    assert service.delete(f"{URL}/{entry['id']}").status_code == 404
    assert held(tenant, "an@example.com") == []
    assert add(service).json()["id"] != entry["id"]
    kinds = AuditEvent.objects.filter(
        tenant_id=tenant.pk, kind__startswith="suppression"
    ).order_by("created_at", "id")
    assert [event.kind for event in kinds] == [
        "suppression.added",
        "suppression.lifted",
        "suppression.added",
    ]


def test_another_tenants_entry_is_not_there(service: Client) -> None:
    stranger = TenantFactory.create()
    suppress(stranger, "an@example.com", Reason.STOP)
    (row,) = Suppression.objects.all()

    assert service.delete(f"{URL}/{public_id('sup', row.pk)}").status_code == 404


@pytest.mark.parametrize(
    ("entry", "pointer"),
    [
        ({"channel": "push"}, "/channel"),
        ({"address": "a@b.example, c@d.example"}, "/address"),
        ({"address": ""}, "/address"),
        ({"channel": "sms", "address": "12345"}, "/address"),
        ({"reason": "because"}, "/reason"),
        ({"category": "weekly-tip"}, "/category"),
        ({"note": "x"}, "/note"),
    ],
)
def test_an_entry_that_means_nothing_names_the_field(
    service: Client, entry: Any, pointer: str
) -> None:
    refused = add(service, **entry)

    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]
    assert not Suppression.objects.exists()


def test_a_held_address_is_told_in_the_answer_named_in_the_call_or_known(
    api: Api, acme: Tenant
) -> None:
    suppress(acme, "given@example.com", Reason.HARD_BOUNCE)

    given = api.submit(
        idempotency_key="given",
        recipient={"user_id": "usr_an", "email": "Given@example.com"},
    )

    (decision,) = given.json()["decisions"]
    assert decision["decision"] == "suppress"
    assert decision["rule"] == "suppression_list"
    assert decision["reason"] == "hard_bounce"
    known = api.get("/v1/users/usr_an").json()["email"]
    suppress(acme, known, Reason.LEGAL_REQUEST)
    (decision,) = api.submit(idempotency_key="known").json()["decisions"]
    assert decision["reason"] == "legal_request"


def test_what_is_held_after_acceptance_is_not_sent(
    api: Api, acme: Tenant, consume: Any
) -> None:
    """O-TIM-3, I6: by the address, be it the call's or the person's."""
    known = api.accept(idempotency_key="known")
    given = api.accept(
        idempotency_key="given",
        recipient={"user_id": "usr_an", "email": "given@example.com"},
    )
    free = api.accept(
        idempotency_key="free",
        recipient={"user_id": "usr_an", "email": "free@example.com"},
    )
    suppress(acme, api.get("/v1/users/usr_an").json()["email"], Reason.STOP)
    suppress(acme, "given@example.com", Reason.HARD_BOUNCE)

    consume()

    assert {
        each: (row["status"], row["reason"])
        for each in (known, given, free)
        for row in deliveries(each)
    } == {
        known: ("suppressed", "stop"),
        given: ("suppressed", "hard_bounce"),
        free: ("sent", ""),
    }
    assert len(query("SELECT 1 FROM sandbox_message")) == 1


@pytest.mark.parametrize(
    ("reason", "category", "stopped"),
    [
        (Reason.COMPLAINT, "", ["marketing"]),
        (Reason.STOP, "", ["marketing", "safety"]),
        (Reason.LEGAL_REQUEST, "marketing", ["marketing"]),
        (Reason.LEGAL_REQUEST, "safety", ["safety"]),
    ],
)
def test_an_entry_reaches_as_far_as_its_reason_and_category(
    tenant: Tenant, reason: Reason, category: str, stopped: list[str]
) -> None:
    """Bad input 26: a complaint leaves what is mandatory alone, the law does not."""
    TenantCategoryFactory.create(
        tenant=tenant, name="safety", base="transactional", legal_class="mandatory"
    )
    service = Client(headers=authorization(api_key(tenant)))
    service.put(
        "/v1/users/usr_1", {"email": "an@example.com"}, content_type="application/json"
    )
    suppress(tenant, "an@example.com", reason, category)

    told = {
        name: service.post(
            "/v1/users/usr_1/explain",
            {"category": name, "channels": ["email"]},
            content_type="application/json",
        ).json()["channels"][0]
        for name in ("marketing", "safety")
    }

    assert [name for name, each in told.items() if each["decision"] == "suppress"] == (
        stopped
    )
