"""Which provider serves a tenant on a channel."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from providers.channels import Channel
from providers.routing import forget_routes, load_routes
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
    table = load_routes([tenant.id])
    return table.alias(tenant_id=tenant.id, channel=channel, is_test=is_test)


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

    assert table.alias(tenant_id=other.id, channel=Channel.SMS, is_test=False) == "http"


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

    assert table.alias(tenant_id=new.id, channel=Channel.EMAIL, is_test=False) == "own"


def test_changed_route_is_seen_when_the_memory_is_over():
    route = ProviderRouteFactory.create(provider="own")
    assert alias(route.tenant, Channel.EMAIL) == "own"
    route.delete()

    forget_routes()

    assert alias(route.tenant, Channel.EMAIL) == "smtp"


def test_channel_has_one_route():
    route = ProviderRouteFactory.create()

    with pytest.raises(IntegrityError), transaction.atomic():
        ProviderRouteFactory.create(tenant=route.tenant, provider="own")


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
