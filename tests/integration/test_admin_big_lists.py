"""Lists of tables that only grow: bounded work, and nothing personal in them."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from foundation.ids import public_id
from notifications.models import Delivery, Notification
from notifications.statuses import DeliveryStatus
from tenants import data_keys
from tests.factories.notifications import Row, insert
from tests.factories.staff import Role, console_of, superuser_console
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

LISTS = [
    "notifications/notification/",
    "notifications/delivery/",
    "notifications/deadletter/",
    "providers/sandboxmessage/",
    "audit/auditevent/",
    "templates/template/",
    "templates/templateversion/",
    "tenants/tenant/",
    "tenants/apikey/",
    "tenants/staffmembership/",
]
BIG = LISTS[:5]
MOST_QUERIES = 10


@pytest.fixture
def tenant():
    return TenantFactory.create()


def statements(console, path: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert console.get(path).status_code == 200
    return [query["sql"] for query in captured.captured_queries]


def many(tenant, count: int) -> None:
    for _ in range(count):
        insert(Row(status=DeliveryStatus.DEAD, tenant_id=tenant.pk))


@pytest.mark.parametrize("path", LISTS)
def test_queries_do_not_grow_with_the_rows(tenant, path):
    other = TenantFactory.create()
    console = console_of(tenant, Role.OPERATOR)
    console.user.memberships.create(tenant=other, role=Role.VIEWER)
    many(tenant, 1)
    few = len(statements(console, path))
    many(tenant, 10)
    many(other, 10)

    assert len(statements(console, path)) == few <= MOST_QUERIES


@pytest.mark.parametrize("path", BIG)
@pytest.mark.parametrize("query", ["", "?q=usr_1"])
def test_nothing_is_counted(tenant, path, query):
    many(tenant, 3)

    for console in (superuser_console(), console_of(tenant, Role.VIEWER)):
        assert not [s for s in statements(console, path + query) if "COUNT(" in s]


def test_a_list_goes_no_further_back_than_the_newest(tenant, monkeypatch):
    monkeypatch.setattr("tenants.admin.newest_first.NEWEST", 5)
    many(tenant, 8)
    console = console_of(tenant, Role.VIEWER)

    for path in ("notifications/notification/", "notifications/deadletter/"):
        assert console.get(path).context["cl"].result_count == 5


@pytest.mark.parametrize("path", BIG)
def test_newest_rows_come_first(tenant, path):
    many(tenant, 3)

    answer = console_of(tenant, Role.VIEWER).get(path, o="1")

    keys = [row.pk for row in answer.context["cl"].result_list]
    assert keys == sorted(keys, reverse=True)


@pytest.mark.parametrize("path", BIG)
@pytest.mark.parametrize("lookup", ["reason", "tenant_id", "status__startswith"])
def test_a_filter_that_no_index_serves_is_refused(tenant, path, lookup):
    answer = console_of(tenant, Role.VIEWER).get(path, **{lookup: "1"})

    assert answer.status_code == 400


@pytest.mark.parametrize(
    "text", ["dlv_", "dlv_01", "dlv_" + "U" * 26, "xxx_" + "0" * 26, "'", "%"]
)
@pytest.mark.parametrize("path", BIG)
def test_searching_for_what_is_no_id_finds_nothing(tenant, path, text):
    many(tenant, 1)

    answer = console_of(tenant, Role.VIEWER).get(path, q=text)

    assert answer.status_code == 200
    assert list(answer.context["cl"].result_list) == []


def test_a_notification_is_found_by_its_delivery_and_by_its_person(tenant):
    many(tenant, 2)
    insert(Row(tenant_id=tenant.pk, user_id="usr_42"))
    wanted = Notification.objects.get(user_id="usr_42")
    delivery = Delivery.objects.get(notification_id=wanted.pk)

    for text in (public_id("dlv", delivery.pk), "usr_42"):
        for console in (superuser_console(), console_of(tenant, Role.VIEWER)):
            answer = console.get("notifications/notification/", q=text)
            assert [row.pk for row in answer.context["cl"].result_list] == [wanted.pk]


def test_deliveries_of_a_quiet_tenant_are_shown_when_it_is_chosen(tenant):
    quiet = TenantFactory.create()
    many(quiet, 1)
    many(tenant, 2)

    answer = superuser_console().get("notifications/delivery/", tenant=str(quiet.pk))

    assert {row.tenant_id for row in answer.context["cl"].result_list} == {quiet.pk}


def test_an_address_is_nowhere_in_lists_and_masked_on_the_page(tenant):
    """I16: personal data is shown to nobody who did not ask for it."""
    delivery_id = insert(Row(tenant_id=tenant.pk)).delivery_id
    sealed = data_keys.seal(
        tenant_id=tenant.pk,
        table="delivery",
        row=delivery_id,
        plaintext=b"an.nguyen@example.org",
    )
    Delivery.objects.filter(pk=delivery_id).update(address_sealed=sealed)
    console = console_of(tenant, Role.OPERATOR)

    page = console.get(f"notifications/delivery/{delivery_id}/change/").content.decode()

    assert "a•••@example.org" in page
    assert "an.nguyen" not in page
    for path in BIG:
        assert "example.org" not in console.get(path).content.decode()


def test_an_address_sealed_with_a_lost_key_does_not_break_the_page(tenant):
    delivery_id = insert(Row(tenant_id=tenant.pk)).delivery_id
    Delivery.objects.filter(pk=delivery_id).update(address_sealed=b"broken")

    page = console_of(tenant, Role.VIEWER).get(
        f"notifications/delivery/{delivery_id}/change/"
    )

    assert "cannot be read" in page.content.decode()


def test_page_of_a_notification_shows_its_deliveries_and_its_trail(tenant):
    insert(Row(status=DeliveryStatus.SENT, tenant_id=tenant.pk))
    notification = Notification.objects.get(tenant_id=tenant.pk)

    page = console_of(tenant, Role.VIEWER).get(
        f"notifications/notification/{notification.pk}/change/"
    )

    assert [table.title for table in page.context["tables"]] == ["Deliveries", "Trail"]
    assert "completed" in page.content.decode()
