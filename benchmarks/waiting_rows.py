"""Text messages by the million that wait to be sent, now or later.

Made by INSERT .. SELECT, as acceptance would have left them; what is due has its sealed
content too, so that it can truly be sent. Runs inside Django: `manage.py shell -c`.
"""

from __future__ import annotations

from uuid import UUID

import orjson
from django.db import connection

from benchmarks.people import OPTED_OUT_ONE_IN
from foundation.statements import server_cursor
from notifications.management.sample import SLUG, TEMPLATES
from tenants import data_keys
from tenants.models import Tenant

_AT_ONCE = 100_000
_ADD = """
WITH person AS MATERIALIZED (
  SELECT r.user_id, a.id AS address_id, a.key,
         row_number() OVER (ORDER BY r.id) - 1 AS number
    FROM recipient r JOIN address a ON a.recipient_id = r.id AND a.channel = 2
   WHERE r.tenant_id = %(tenant_id)s
), taker AS MATERIALIZED (
  SELECT *, row_number() OVER (ORDER BY number) - 1 AS turn FROM person
   WHERE number %% %(one_in)s <> 0
), version AS MATERIALIZED (
  SELECT v.id, v.content_hash FROM template_version v
    JOIN template t ON t.id = v.template_id
   WHERE t.name = %(template)s AND t.tenant_id = %(tenant_id)s LIMIT 1
), accepted AS MATERIALIZED (
  SELECT uuidv7() AS id, n, n %% (SELECT count(*) FROM taker) AS turn
    FROM generate_series(1, %(number)s) n
), noted AS (
  INSERT INTO notification (id, tenant_id, user_id, template_version_id, content_hash,
                            category, priority, locale, reference, is_test, accepted_by,
                            send_at)
  SELECT a.id, %(tenant_id)s, t.user_id, v.id, v.content_hash, 'transactional', 2, '',
         '', false, 'service:bench', app_now() + %(later)s
    FROM accepted a JOIN taker t USING (turn), version v
), message AS MATERIALIZED (
  SELECT (left(a.id::text, 13) || substr(uuidv7()::text, 14))::uuid AS id,
         a.id AS notification_id, a.n, t.address_id, t.key
    FROM accepted a JOIN taker t USING (turn)
), pending AS (
  INSERT INTO delivery (id, notification_id, tenant_id, channel, category, status,
                        address_id, address_key, retry_until)
  SELECT m.id, m.notification_id, %(tenant_id)s, 2, 'transactional', 'pending',
         m.address_id, m.key, app_now() + %(later)s + interval '1 day'
    FROM message m
), queued AS (
  INSERT INTO outbox (delivery_id, tenant_id, channel, priority, claim_count, due_at)
  SELECT m.id, %(tenant_id)s, 2, 2, 0,
         app_now() + %(later)s + m.n * interval '1 microsecond'
    FROM message m
), told AS (
  INSERT INTO audit_event (id, tenant_id, kind, actor, notification_id, delivery_id,
                           reason, detail)
  SELECT a.id, %(tenant_id)s, 'notification.accepted', 'service:bench', a.id, NULL, '',
         '{}'::jsonb
    FROM accepted a
)
SELECT id FROM accepted
"""


def add(*, due: int, later: int) -> None:
    """Add so many LOW messages that are due, and that will be in a day."""
    tenant_id = Tenant.objects.get(slug=SLUG).pk
    content = orjson.dumps({"variables": TEMPLATES[0].variables, "metadata": {}})
    for number in _batches(due):
        ids = _add(tenant_id, number=number, later="0")
        _seal(tenant_id, ids, content=content)
    for number in _batches(later):
        _add(tenant_id, number=number, later="1 day")


def _batches(number: int) -> list[int]:
    whole, rest = divmod(number, _AT_ONCE)
    return [_AT_ONCE] * whole + ([rest] if rest else [])


def _add(tenant_id: int, *, number: int, later: str) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        # Nobody knows how long the lists in it are: it would compare all with all.
        cursor.execute("SET enable_nestloop = off")
        cursor.execute(
            _ADD.replace("%(later)s", f"interval '{later}'"),
            {
                "tenant_id": tenant_id,
                "template": TEMPLATES[0].name,
                "one_in": OPTED_OUT_ONE_IN,
                "number": number,
            },
        )
        return [row[0] for row in cursor.fetchall()]


def _seal(tenant_id: int, ids: list[UUID], *, content: bytes) -> None:
    with (
        server_cursor() as cursor,
        cursor.copy(
            "COPY notification_content (id, tenant_id, sealed) FROM STDIN"
        ) as copy,
    ):
        for identifier in ids:
            sealed = data_keys.seal(
                tenant_id=tenant_id,
                table="notification_content",
                row=identifier,
                plaintext=content,
            )
            copy.write_row((identifier, tenant_id, sealed))
