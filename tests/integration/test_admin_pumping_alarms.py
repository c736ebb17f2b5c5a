"""Staff see where one-time passwords pour in, for their own tenants alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from foundation.statements import server_cursor
from tenants.models import Tenant
from tenants.pumping_alarms import KEEP_FOR, Suspicion, forget_old_alarms, note
from tests.factories.staff import Role, console_of, superuser_console
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

ALARMS = "tenants/pumpingalarm/"


def raise_alarm(tenant: Tenant, prefix: str, **numbers: int) -> None:
    with server_cursor() as cursor:
        suspicion = Suspicion(
            tenant_id=tenant.pk, country="VN", prefix=prefix, **numbers
        )
        note(cursor, [suspicion])


def shown(answer: Any) -> list[str]:
    return [str(alarm) for alarm in answer.context["cl"].result_list]


def test_a_row_tells_where_how_many_and_since_when(clock):
    tenant = TenantFactory.create(slug="acme")
    raise_alarm(tenant, "8490123", passed=71, refused=1234, blocked=5)

    page = superuser_console().get(ALARMS).content.decode()

    for told in ("+8490123…", "VN", "acme", "goes on", "71", "1234", "5"):
        assert told in page
    clock.advance(timedelta(minutes=11))
    page = superuser_console().get(ALARMS).content.decode()
    assert "goes on" not in page
    assert "over" in page


def test_members_see_their_own_tenants_alarms_and_change_none():
    tenant, other = TenantFactory.create(), TenantFactory.create()
    raise_alarm(tenant, "8490123")
    raise_alarm(other, "8491234")
    console = console_of(tenant, *Role.values)

    listed = console.get(ALARMS)

    assert shown(listed) == ["+8490123…"]
    assert "add/" not in listed.content.decode()
    assert console.get(f"{ALARMS}add/").status_code == 403


def test_an_alarm_is_forgotten_long_after_it_was_over(clock):
    tenant = TenantFactory.create()
    raise_alarm(tenant, "8490123")
    clock.advance(KEEP_FOR + timedelta(days=1))
    raise_alarm(tenant, "8491234")

    forget_old_alarms()

    assert shown(superuser_console().get(ALARMS)) == ["+8491234…"]
