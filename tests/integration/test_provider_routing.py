"""Which provider serves a tenant on a channel."""

from __future__ import annotations

from collections import Counter

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from foundation.ids import new_id
from providers.channels import Channel
from providers.routing import Route, choose, forget_routes, load_routes
from tests.factories.providers import ProviderRouteFactory
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture(autouse=True)
def routes(settings):
    forget_routes()
    settings.PROVIDER_ROUTES = {
        "email": "smtp",
        "sms": "http",
        "push": "http",
        "in_app": "in_app",
    }
    settings.TEST_PROVIDER = "sandbox"
    yield
    forget_routes()


def alias(tenant, channel, *, is_test=False):
    return the_one(load_routes([tenant.id]), tenant.id, channel, is_test=is_test)


def the_one(table, tenant_id, channel, *, is_test=False):
    route = table.route(tenant_id=tenant_id, channel=channel, is_test=is_test)
    (only,) = route.providers
    return only


def test_tenant_without_routes_takes_the_platforms():
    tenant = TenantFactory.create()

    assert [alias(tenant, channel) for channel in Channel] == [
        "smtp",
        "http",
        "http",
        "in_app",
    ]


def test_tenants_own_route_comes_first_and_for_its_channel_only():
    route = ProviderRouteFactory.create(channel=Channel.SMS, provider="own")

    assert alias(route.tenant, Channel.SMS) == "own"
    assert alias(route.tenant, Channel.EMAIL) == "smtp"


def test_route_of_one_tenant_is_not_anothers():
    """Another tenant's account is never used."""
    route = ProviderRouteFactory.create(channel=Channel.SMS, provider="own")
    other = TenantFactory.create()

    table = load_routes([route.tenant_id, other.id])

    assert the_one(table, other.id, Channel.SMS) == "http"


@pytest.mark.parametrize("channel", Channel)
def test_test_keys_go_to_the_sandbox_whatever_the_routes_say(channel):
    route = ProviderRouteFactory.create(channel=channel, provider="own")

    assert alias(route.tenant, channel, is_test=True) == "sandbox"


def test_batch_is_one_query_and_the_next_batch_none(django_assert_num_queries):
    tenants = [
        ProviderRouteFactory.create().tenant,
        TenantFactory.create(),
        TenantFactory.create(),
    ]
    ids = [tenant.id for tenant in tenants]

    with django_assert_num_queries(1):
        load_routes(ids)
        load_routes(ids)


def test_tenant_new_to_the_process_is_read(django_assert_num_queries):
    known, new = (
        TenantFactory.create(),
        ProviderRouteFactory.create(provider="own").tenant,
    )
    load_routes([known.id])

    with django_assert_num_queries(1):
        table = load_routes([known.id, new.id])

    assert the_one(table, new.id, Channel.EMAIL) == "own"


def test_changed_route_is_seen_when_the_memory_is_over():
    route = ProviderRouteFactory.create(provider="own")
    assert alias(route.tenant, Channel.EMAIL) == "own"
    route.delete()

    forget_routes()

    assert alias(route.tenant, Channel.EMAIL) == "smtp"


def test_channel_has_each_provider_once():
    route = ProviderRouteFactory.create()

    with pytest.raises(IntegrityError), transaction.atomic():
        ProviderRouteFactory.create(tenant=route.tenant, tier=2)


def test_weight_is_not_nothing():
    with pytest.raises(IntegrityError), transaction.atomic():
        ProviderRouteFactory.create(weight=0)


def test_tiers_of_a_tenant_are_in_order_with_their_weights():
    route = ProviderRouteFactory.create(channel=Channel.SMS, provider="spare", tier=2)
    for provider, weight in (("large", 3), ("small", 1)):
        ProviderRouteFactory.create(
            tenant=route.tenant, channel=Channel.SMS, provider=provider, weight=weight
        )

    found = load_routes([route.tenant_id]).route(
        tenant_id=route.tenant_id, channel=Channel.SMS, is_test=False
    )

    assert found.tiers == ({"large": 3, "small": 1}, {"spare": 1})


def test_weights_decide_who_comes_first_and_tiers_who_stands_in():
    route = Route(({"large": 3, "small": 1}, {"spare": 1}))
    orders = Counter(route.order(new_id()) for _ in range(4000))

    assert set(orders) == {("large", "small", "spare"), ("small", "large", "spare")}
    assert 2800 < orders["large", "small", "spare"] < 3200


def test_order_of_a_delivery_never_changes():
    route = Route(({"one": 1, "two": 1, "three": 1},))
    delivery_id = new_id()

    assert len({route.order(delivery_id) for _ in range(20)}) == 1


@pytest.mark.parametrize(
    ("after", "resting", "faulty", "chosen"),
    [
        ("", "", "", "a"),
        ("a", "", "", "b"),
        ("c", "", "", "a"),
        ("", "a", "", "b"),
        ("a", "b", "", "c"),
        ("a", "bc", "", "a"),
        ("a", "abc", "", "b"),
        ("", "", "a", "b"),
        ("", "bc", "a", "b"),
        ("", "a", "bc", "a"),
        ("a", "", "abc", "b"),
        ("gone", "", "", "a"),
    ],
)
def test_choice_goes_on_from_who_failed_and_to_who_is_well(
    after, resting, faulty, chosen
):
    """Rather wait for who rests than be parked by who refuses us."""
    order = ("a", "b", "c")

    assert choose(order, after=after, resting=resting, faulty=faulty) == chosen


def test_channel_must_exist():
    with pytest.raises(IntegrityError), transaction.atomic():
        ProviderRouteFactory.create(channel=9)


@pytest.mark.parametrize(
    ("channel", "provider"), [(Channel.EMAIL, "nobody"), (Channel.EMAIL, "in_app")]
)
def test_form_refuses_a_provider_that_cannot_serve(channel, provider):
    route = ProviderRouteFactory.build(
        tenant=TenantFactory.create(), channel=channel, provider=provider
    )

    with pytest.raises(ValidationError) as refusal:
        route.full_clean()

    assert set(refusal.value.error_dict) == {"provider"}
