"""The page of rejected records: for superusers, to look at and to clear away."""

from __future__ import annotations

import pytest

from foundation.statements import server_cursor
from notifications.models import RejectedRecord
from notifications.rejected_records import Rejection, keep_rejected
from tests.factories.staff import Role, console_of, superuser_console
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

LIST = "notifications/rejectedrecord/"


@pytest.fixture
def rejected() -> RejectedRecord:
    rejection = Rejection(
        topic="deliveries.email.high",
        partition=3,
        offset=17,
        reason="unknown_version",
        octets=b"\xff\xfe\x00",
    )
    with server_cursor() as cursor:
        keep_rejected(cursor, [rejection])
    return RejectedRecord.objects.get()


def test_a_superuser_sees_where_it_lay_and_what_it_was(
    rejected: RejectedRecord,
) -> None:
    console = superuser_console()

    listed = console.get(LIST).content.decode()
    page = console.get(f"{LIST}{rejected.pk}/change/").content.decode()

    for shown in ("deliveries.email.high", "17", "unknown_version"):
        assert shown in listed
        assert shown in page
    assert "ff fe 00" in page


def test_an_operator_of_a_tenant_does_not(rejected: RejectedRecord) -> None:
    console = console_of(TenantFactory.create(), Role.OPERATOR)

    assert console.get(LIST).status_code == 403


def test_nobody_adds_or_changes_one(rejected: RejectedRecord) -> None:
    console = superuser_console()

    assert console.get(f"{LIST}add/").status_code == 403
    answer = console.post(f"{LIST}{rejected.pk}/change/", reason="x")
    assert answer.status_code == 403
