"""The same people saved by several at once, and by one for long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import pytest
from django.db import connection
from django.test import Client

from preferences.models import Address, Recipient
from preferences.recipients import RecipientDetails, TypedAddress
from preferences.saving import Saved, save_recipients
from providers.channels import Channel
from tenants.models import Tenant
from tests.acme import run_together
from tests.factories.tenants import TenantFactory, api_key, authorization

pytestmark = pytest.mark.usefixtures("committed")
NUMBERS = range(200)


def saving(
    tenant: Tenant, numbers: Iterable[int], *, domain: str
) -> Callable[[], Mapping[str, Saved]]:
    people = {
        f"usr_{at:03}": RecipientDetails(
            locale=domain,
            addresses=[
                TypedAddress(
                    channel=Channel.EMAIL,
                    typed=f"{at}@{domain}.example",
                    normalised=f"{at}@{domain}.example",
                )
            ],
        )
        for at in numbers
    }
    return lambda: save_recipients(tenant_id=tenant.pk, people=people)


def test_calls_about_the_same_people_wait_for_each_other_and_never_crosswise() -> None:
    tenant = TenantFactory.create()
    for _ in range(5):
        results = run_together(
            saving(tenant, NUMBERS, domain="aa"),
            saving(tenant, reversed(NUMBERS), domain="bb"),
            saving(tenant, NUMBERS[::2], domain="cc"),
            saving(tenant, reversed(NUMBERS[1::3]), domain="dd"),
        )
        assert [r for r in results if isinstance(r, Exception)] == []

    people = dict(Recipient.objects.values_list("id", "locale"))
    assert len(people) == len(NUMBERS)
    addresses = Counter(Address.objects.values_list("recipient_id", flat=True))
    assert addresses == Counter(dict.fromkeys(people, 1))


def test_of_many_who_create_one_person_one_has_created_them() -> None:
    tenant = TenantFactory.create()

    results = run_together(*[saving(tenant, [1], domain="aa")] * 6)

    assert Counter(result["usr_001"] for result in results) == {
        Saved.CREATED: 1,
        Saved.UNCHANGED: 5,
    }


def test_no_transaction_stands_idle_while_many_people_are_read() -> None:
    """A thousand with twenty addresses each take seconds; the key is taken after it."""
    service = Client(headers=authorization(api_key(TenantFactory.create())))
    addresses = [{"channel": "sms", "value": "0"}] * 20
    wrong = [{"user_id": f"no_{at}", "addresses": addresses} for at in range(999)]
    with connection.cursor() as cursor:
        cursor.execute("SET idle_in_transaction_session_timeout = '200ms'")

    answer = service.post(
        "/v1/users",
        {"users": [*wrong, {"user_id": "usr_1"}]},
        content_type="application/json",
        headers={"Idempotency-Key": "sync-1"},
    )

    assert answer.status_code == 200, answer.content
    outcomes = Counter(result["outcome"] for result in answer.json()["results"])
    assert outcomes == {"refused": 999, "created": 1}
