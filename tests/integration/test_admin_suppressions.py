"""Staff look addresses up, add and lift entries, and read one person's ledger."""

from __future__ import annotations

from typing import Any

import pytest

from audit.models import AuditEvent
from preferences.address_keys import address_key
from preferences.consent import Change, Consent
from preferences.models import Suppression
from preferences.notification_preferences import Saying, note_consent
from providers.channels import Channel
from tenants.models import Tenant
from tests.factories.staff import Console, Role, console_of, superuser_console
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

LIST = "preferences/suppression/"
LEDGER = "preferences/consentevent/"


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create(default_region="VN")


@pytest.fixture
def operator(tenant: Tenant) -> Console:
    return console_of(tenant, Role.OPERATOR)


def add(console: Console, tenant: Tenant, **changes: Any) -> Any:
    entry = {
        "tenant": tenant.pk,
        "channel": Channel.SMS.value,
        "address": "0912 345 678",
        "category": "",
        "reason": "legal_request",
    }
    return console.post(f"{LIST}add/", **{**entry, **changes})


def found(console: Console, page: str, term: str) -> list[Any]:
    return list(console.get(page, q=term).context["cl"].result_list)


def test_an_operator_adds_an_address_and_finds_it_in_every_spelling(tenant, operator):
    add(operator, tenant)

    entry = Suppression.objects.get()
    number = {"tenant_id": tenant.pk, "channel": Channel.SMS}
    assert bytes(entry.key) == address_key(**number, value="+84912345678")
    assert entry.created_by == f"staff:{operator.user.username}"
    for spelling in ("+84912345678", "0912-345-678", f" {'84912345678'} "):
        assert [row.pk for row in found(operator, LIST, spelling)] == [entry.pk]
    assert found(operator, LIST, "0912345679") == []
    assert found(operator, LIST, "no number") == []
    event = AuditEvent.objects.get(kind="suppression.added")
    assert event.actor == f"staff:{operator.user.username}"


def test_another_tenants_entry_is_found_by_nobody_else(tenant, operator):
    other = TenantFactory.create(default_region="VN")
    add(superuser_console(), other)

    assert found(operator, LIST, "0912345678") == []
    assert len(found(superuser_console(), LIST, "0912345678")) == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"address": "113"}, "address"),
        ({"address": "a@b.co"}, "address"),
        ({"address": ""}, "address"),
        ({"category": "weekly_tips"}, "category"),
        ({"reason": "spite"}, "reason"),
        ({"channel": Channel.PUSH.value}, "channel"),
    ],
)
def test_an_entry_that_means_nothing_is_refused_at_its_field(
    tenant, operator, changes, field
):
    answer = add(operator, tenant, **changes)

    assert list(answer.context["adminform"].form.errors) == [field]
    assert not Suppression.objects.exists()


def test_lifting_is_asked_about_and_told(tenant, operator):
    add(operator, tenant)
    entry = Suppression.objects.get()

    question = operator.act(LIST, "lift", entry.pk)
    assert "Messages will go to these addresses again" in question.content.decode()
    operator.act(LIST, "lift", entry.pk, confirmed="yes")
    operator.act(LIST, "lift", entry.pk, confirmed="yes")

    entry.refresh_from_db()
    assert entry.lifted_by == f"staff:{operator.user.username}"
    assert AuditEvent.objects.filter(kind="suppression.lifted").count() == 1


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUTHOR, Role.APPROVER])
def test_who_only_looks_adds_and_lifts_nothing(tenant, operator, role):
    add(operator, tenant)
    entry = Suppression.objects.get()
    console = console_of(tenant, role)

    assert add(console, tenant, address="0987654321").status_code == 403
    console.act(LIST, "lift", entry.pk, confirmed="yes")

    entry.refresh_from_db()
    assert entry.lifted_at is None
    assert Suppression.objects.count() == 1


def test_the_ledger_tells_of_one_person_and_of_nobody_unasked(tenant, operator):
    for user_id in ("usr_1", "usr_2"):
        note_consent(
            tenant_id=tenant.pk,
            user_id=user_id,
            consent=Consent(
                channel=Channel.EMAIL, category="marketing", change=Change.WITHDRAWN
            ),
            said=Saying(actor="service:shop", wording="2026-11", evidence="form 7"),
        )

    page = operator.get(LEDGER, q="usr_1")

    assert found(operator, LEDGER, "") == []
    assert found(operator, LEDGER, "no spaces") == []
    (row,) = page.context["cl"].result_list
    text = page.content.decode()
    for told in ("withdrawn", "marketing", "2026-11", "service:shop"):
        assert told in text
    assert "form 7" not in text
    assert row.evidence is not None
    assert operator.get(f"{LEDGER}add/").status_code == 403
