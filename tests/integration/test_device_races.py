from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from preferences.devices import PushToken, register_device
from preferences.models import Device
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("committed")


def test_a_token_registered_by_many_at_once_ends_with_one_of_them() -> None:
    """O-PSH-1: the last one has it, and nobody gets an error."""
    tenant = TenantFactory.create()
    token = PushToken(platform=Device.Platform.FCM, value="tok-AAA")
    start = Barrier(8)

    def register(number: int) -> None:
        start.wait()
        try:
            register_device(
                tenant_id=tenant.pk,
                user_id=f"usr_{number % 4}",
                token=token,
                actor="service:test",
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(register, range(8)))

    assert Device.objects.filter(tenant=tenant).count() == 1
