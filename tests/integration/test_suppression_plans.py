"""How PostgreSQL looks addresses up on the suppression list, whatever it believes."""

from __future__ import annotations

import json

import psycopg

from foundation.statements import server_cursor
from preferences.suppression import _FIND
from tests.factories.tenants import TenantFactory

ADD = """
INSERT INTO suppression (id, tenant_id, channel, key, category, reason, created_by)
SELECT uuidv7(), %s, 2, decode(md5(n::text), 'hex'), '', 'stop', 'test'
  FROM generate_series(%s::int, %s::int) n
"""


def test_a_list_that_was_short_when_it_was_measured_is_not_read_whole(
    committed: None, owner: psycopg.Connection
) -> None:
    tenant_id = TenantFactory.create().pk
    owner.execute(ADD, [tenant_id, 1, 1])
    owner.execute("ANALYZE suppression")
    owner.execute(ADD, [tenant_id, 2, 20_000])
    keys = [number.to_bytes(16) for number in range(500)]

    with server_cursor() as cursor:
        cursor.execute(
            f"EXPLAIN (FORMAT JSON) {_FIND}", [[tenant_id] * 500, [2] * 500, keys]
        )
        (plan,) = cursor.fetchone() or ()

    assert "suppression_once" in json.dumps(plan)
    assert "Seq Scan" not in json.dumps(plan)
