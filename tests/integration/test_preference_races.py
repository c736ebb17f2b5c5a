from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from preferences.models import NotificationPreferences
from preferences.notification_preferences import (
    Choices,
    Saying,
    replace_preferences,
)
from preferences.preconditions import Precondition, PreconditionFailed
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("committed")

WRITERS = 16


@pytest.mark.parametrize("stored", [0, 1])
def test_of_many_writers_of_one_version_exactly_one_wins(stored: int) -> None:
    tenant = TenantFactory.create()
    start = Barrier(WRITERS)

    def write(channel: str, version: int) -> bool:
        try:
            replace_preferences(
                tenant_id=tenant.pk,
                user_id="usr_42",
                precondition=Precondition(versions=(version,)),
                choices=Choices(opt_outs=[channel]),
                said=Saying(actor="user:usr_42"),
            )
        except PreconditionFailed:
            return False
        return True

    def race(number: int) -> bool:
        start.wait()
        try:
            return write(["email", "sms"][number % 2], stored)
        finally:
            connection.close()

    if stored:
        assert write("push", 0)
    with ThreadPoolExecutor(WRITERS) as pool:
        won = list(pool.map(race, range(WRITERS)))

    assert won.count(True) == 1
    kept = NotificationPreferences.objects.get(tenant=tenant)
    assert kept.version == stored + 1
    assert kept.opt_outs == [["email", "sms"][won.index(True) % 2]]
