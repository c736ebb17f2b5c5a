from __future__ import annotations

import base64
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connection, transaction

from foundation.ids import new_id
from foundation.sealing import SealBroken, sealing_key_id
from tenants import data_keys
from tenants.models import Tenant, TenantKey
from tenants.onboarding import add_tenant_key, create_tenant
from tenants.process_cache import forget_everything
from tests.factories.tenants import TenantFactory


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget_everything()


@pytest.fixture
def tenant(db) -> Tenant:
    return TenantFactory.create()


def master(key_id: int) -> str:
    return f"{key_id}:{base64.b64encode(os.urandom(32)).decode()}"


def sealed_for(tenant: Tenant, **changes) -> tuple[dict[str, Any], bytes]:
    place: dict[str, Any] = {
        "tenant_id": tenant.pk,
        "table": "delivery",
        "row": new_id(),
    } | changes
    return place, data_keys.seal(**place, plaintext=b"+84912345678")


def test_sealed_value_opens_in_its_place(tenant):
    place, sealed = sealed_for(tenant)

    assert b"84912345678" not in sealed
    assert data_keys.unseal(**place, sealed=sealed) == b"+84912345678"


@pytest.mark.parametrize("moved", [{"table": "recipient"}, {"row": new_id()}])
def test_value_copied_elsewhere_does_not_open(tenant, moved):
    place, sealed = sealed_for(tenant)

    with pytest.raises(SealBroken):
        data_keys.unseal(**place | moved, sealed=sealed)


def test_value_does_not_open_for_another_tenant(tenant):
    place, sealed = sealed_for(tenant)
    foreign = place | {"tenant_id": TenantFactory.create().pk}

    for _ in range(2):  # the key unknown to the process, and known to it
        with pytest.raises(SealBroken):
            data_keys.unseal(**foreign, sealed=sealed)
        data_keys.unseal(**place, sealed=sealed)


@pytest.mark.parametrize("sealed", [b"", b"short", b"\x01" + b"\xff" * 60])
def test_bytes_that_were_never_sealed_do_not_open(tenant, sealed):
    with pytest.raises(SealBroken):
        data_keys.unseal(tenant_id=tenant.pk, table="t", row=new_id(), sealed=sealed)


def test_sealing_and_opening_a_batch_costs_one_query_each(
    tenant, django_assert_num_queries
):
    with django_assert_num_queries(1):
        batch = [sealed_for(tenant) for _ in range(500)]
    with django_assert_num_queries(1):
        for place, sealed in batch:
            data_keys.unseal(**place, sealed=sealed)


def test_new_sealing_key_takes_over_and_the_old_one_still_opens(tenant):
    place, old = sealed_for(tenant)
    newer = add_tenant_key(tenant_id=tenant.pk, purpose=TenantKey.Purpose.SEAL)
    forget_everything()

    _, new = sealed_for(tenant)

    assert sealing_key_id(new) == newer.pk
    assert data_keys.unseal(**place, sealed=old) == b"+84912345678"


def test_rotated_master_key_still_unwraps(tenant, settings):
    place, sealed = sealed_for(tenant)
    settings.SEALING_KEYS = [master(2), *settings.SEALING_KEYS]
    forget_everything()

    assert data_keys.unseal(**place, sealed=sealed) == b"+84912345678"
    wrapped = TenantKey.objects.get(
        tenant=create_tenant(slug="later", name="Later"), purpose="seal"
    ).wrapped
    assert sealing_key_id(bytes(wrapped)) == 2


def test_missing_master_key_is_a_configuration_fault(tenant, settings):
    settings.SEALING_KEYS = [master(9)]

    with pytest.raises(ImproperlyConfigured, match="no key 1"):
        sealed_for(tenant)


def test_blind_index_finds_the_same_value_of_the_same_tenant_only(tenant):
    def index(of: Tenant = tenant, *, purpose: str = "email", value: str = "a@b.vn"):
        return data_keys.blind_index(tenant_id=of.pk, purpose=purpose, value=value)

    assert index() == index()
    assert len(index()) == 16
    others = {
        index(TenantFactory.create()),
        index(purpose="phone"),
        index(value="b@b.vn"),
    }
    assert len(others | {index()}) == 4


def test_new_sealing_key_leaves_the_blind_index_alone(tenant):
    def index() -> bytes:
        return data_keys.blind_index(tenant_id=tenant.pk, purpose="p", value="v")

    before = index()
    add_tenant_key(tenant_id=tenant.pk, purpose=TenantKey.Purpose.SEAL)
    forget_everything()

    assert index() == before


def test_tenant_has_one_index_key(tenant):
    with pytest.raises(IntegrityError), transaction.atomic():
        add_tenant_key(tenant_id=tenant.pk, purpose=TenantKey.Purpose.INDEX)


def test_tenant_without_keys_cannot_seal(db):
    bare = Tenant.objects.create(slug="bare", name="Bare")

    with pytest.raises(data_keys.TenantKeyMissing):
        sealed_for(bare)


def test_threads_share_the_keys(committed):
    tenant = TenantFactory.create()

    def round_trip(_: int) -> bytes:
        try:
            place, sealed = sealed_for(tenant)
            return data_keys.unseal(**place, sealed=sealed)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(round_trip, range(200))) == {b"+84912345678"}


@pytest.mark.parametrize(
    "entries",
    [[], ["1"], ["1:"], ["one:" + "A" * 43 + "="], ["1:short"], ["1:????"]],
)
def test_malformed_sealing_keys_are_refused_without_quoting_them(entries):
    with pytest.raises(ImproperlyConfigured) as refused:
        data_keys.parse_sealing_keys(entries)
    assert "A" * 10 not in str(refused.value)


def test_id_used_twice_is_refused():
    with pytest.raises(ImproperlyConfigured):
        data_keys.parse_sealing_keys([master(1), master(1)])
