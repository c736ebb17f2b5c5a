from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from inbox.reading import mark_read, page
from tests.factories.inbox import InboxItemFactory
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("committed")


def test_five_parallel_reads_count_once_and_agree_on_the_time() -> None:
    """O-INB-2."""
    tenant = TenantFactory.create()
    item = InboxItemFactory.create(tenant_id=tenant.pk, user_id="usr_42")
    start = Barrier(5)

    def read(_: int) -> object:
        start.wait()
        try:
            return mark_read(tenant_id=tenant.pk, user_id="usr_42", message_id=item.id)
        finally:
            connection.close()

    with ThreadPoolExecutor(5) as pool:
        times = set(pool.map(read, range(5)))

    found = page(tenant_id=tenant.pk, user_id="usr_42", cursor=None, limit=50)
    assert times == {found.messages[0].read_at}
    assert found.unread_count == 0
