"""The pages of account faults and of tenants' routes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from foundation.statements import server_cursor
from notifications.statuses import DeliveryStatus
from providers.account_faults import note_faulty, note_mended, take_probes
from providers.channels import Channel
from providers.models import ProviderRoute
from tests.acme import query
from tests.factories.notifications import Row, insert
from tests.factories.providers import ProviderRouteFactory
from tests.factories.staff import Role, console_of, said, superuser_console
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

FAULTS = "providers/accountfault/"
ROUTES = "providers/providerroute/"


@pytest.fixture
def faulty(db):
    with server_cursor() as cursor:
        note_faulty(cursor, {"acme": "http_401"})
    for _ in range(3):
        insert(Row(status=DeliveryStatus.PARKED, reason="account_fault"))
    query("UPDATE dead_letter SET provider = 'acme' RETURNING 1")


@pytest.mark.usefixtures("faulty")
def test_operators_of_the_platform_see_why_and_how_many_wait():
    listed = superuser_console().get(FAULTS).content.decode()

    assert "acme" in listed
    assert "http_401" in listed
    assert "resting" in listed
    assert '<td class="field-waiting' in listed


@pytest.mark.usefixtures("faulty")
def test_a_probe_may_be_asked_for_at_once(clock):
    def probes():
        with server_cursor() as cursor:
            return take_probes(cursor, ["acme"])

    clock.advance(timedelta(seconds=6))
    assert probes() == {"acme"}
    assert probes() == set()

    answer = superuser_console().act(FAULTS, "probe", "acme")

    assert said(answer) == ["The next message for acme is sent there."]
    assert probes() == {"acme"}


@pytest.mark.usefixtures("faulty")
def test_a_mended_account_is_shown_as_such():
    with server_cursor() as cursor:
        note_mended(cursor, ["acme"])

    assert "mended" in superuser_console().get(FAULTS).content.decode()


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMINISTRATOR])
def test_staff_of_a_tenant_do_not_see_the_platforms_accounts(role):
    console = console_of(TenantFactory.create(), role)

    assert console.get(FAULTS).status_code == 403
    answer = console.post(FAULTS, action="probe", _selected_action=["acme"])
    assert answer.status_code == 403


def recorded():
    return query(
        "SELECT detail->>'act' AS act, detail->>'provider' AS provider"
        " FROM audit_event WHERE kind = 'tenant.routes_changed' ORDER BY id"
    )


def test_a_superuser_gives_a_tenant_a_provider_and_the_trail_says_so():
    tenant = TenantFactory.create()

    answer = superuser_console().post(
        f"{ROUTES}add/",
        tenant=tenant.pk,
        channel=Channel.EMAIL.value,
        provider="sandbox",
        tier=1,
        weight=3,
    )

    assert answer.redirect_chain
    route = ProviderRoute.objects.get()
    assert (route.tenant_id, route.provider, route.weight) == (tenant.pk, "sandbox", 3)
    assert recorded() == [{"act": "added", "provider": "sandbox"}]


@pytest.mark.parametrize(
    ("field", "value"), [("provider", "nobody"), ("weight", 0), ("tier", "")]
)
def test_a_route_that_could_not_work_is_refused_by_its_field(field, value):
    tenant = TenantFactory.create()
    fields = {
        "tenant": tenant.pk,
        "channel": Channel.EMAIL.value,
        "provider": "sandbox",
        "tier": 1,
        "weight": 1,
        field: value,
    }

    answer = superuser_console().post(f"{ROUTES}add/", **fields)

    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == [field]
    assert not ProviderRoute.objects.exists()


def test_deleting_a_route_is_in_the_trail():
    route = ProviderRouteFactory.create(provider="sandbox")

    superuser_console().post(f"{ROUTES}{route.pk}/delete/", post="yes")

    assert recorded() == [{"act": "deleted", "provider": "sandbox"}]


def test_staff_of_a_tenant_look_at_their_routes_and_change_none():
    route = ProviderRouteFactory.create(provider="sandbox")
    console = console_of(route.tenant, Role.ADMINISTRATOR)

    assert "sandbox" in console.get(ROUTES).content.decode()
    assert console.get(f"{ROUTES}add/").status_code == 403
