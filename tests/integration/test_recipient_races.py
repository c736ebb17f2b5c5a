"""The same people saved by several at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import pytest

from preferences.models import Address, Recipient
from preferences.recipients import RecipientDetails, TypedAddress
from preferences.saving import Saved, save_recipients
from providers.channels import Channel
from tenants.models import Tenant
from tests.acme import run_together
from tests.factories.tenants import TenantFactory

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
