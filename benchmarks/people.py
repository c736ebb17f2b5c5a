"""Fill a migrated database for a benchmark: a tenant, people, and a past.

Runs inside Django: `manage.py shell -c "from benchmarks.people import fill; …"`.
"""

from __future__ import annotations

import json

from django.db import connection, transaction

from benchmarks.submissions import user_id
from foundation.ids import new_id
from notifications.management.sample import TEMPLATES, load_tenant
from preferences.address_keys import address_key
from preferences.models import Address, NotificationPreferences, Recipient
from providers.channels import Channel
from tenants.api_keys import issue_key
from tenants.data_keys import seal
from tenants.models import Tenant
from tenants.scopes import Scope

OPTED_OUT_ONE_IN = 10
# A past that was delivered: the same tables, indexes and partitions as new rows go to,
# so that nothing is measured on empty ones. Siblings share their timestamp.
HISTORY = """
WITH past AS MATERIALIZED (
  SELECT uuidv7(-interval '5 days') AS id, n FROM generate_series(1, %(count)s) n
), keyed AS (
  INSERT INTO idempotency_key (tenant_id, key, fingerprint, hash_version, resource,
                               status_code, response, created_at, expires_at)
  SELECT %(tenant_id)s, 'past-' || n, sha256(n::text::bytea), 1, id, 202,
         repeat('x', 400)::bytea, app_now(), app_now() + interval '2 days' FROM past
), noted AS (
  INSERT INTO notification (id, tenant_id, user_id, template_version_id, content_hash,
                            category, priority, locale, reference, is_test, accepted_by,
                            send_at)
  SELECT p.id, %(tenant_id)s, 'usr_' || lpad((n %% %(people)s)::text, 6, '0'), v.id,
         v.content_hash, 'transactional', 1, '', '', false, 'service:bench',
         app_now() - interval '5 days'
    FROM past p, template_version v JOIN template t ON t.id = v.template_id
   WHERE t.tenant_id = %(tenant_id)s AND t.name = %(template)s
), kept AS (
  INSERT INTO notification_content (id, tenant_id, sealed)
  SELECT id, %(tenant_id)s, sha512(n::text::bytea) || sha512(id::text::bytea) FROM past
), fanned_out AS MATERIALIZED (
  SELECT (left(p.id::text, 13) || substr(uuidv7()::text, 14))::uuid AS id,
         p.id AS notification_id, channel
    FROM past p, unnest(ARRAY[1, 2, 4]) channel
), delivered AS (
  INSERT INTO delivery (id, notification_id, tenant_id, channel, category, status,
                        address_key, retry_until, finished_at, attempt_count)
  SELECT id, notification_id, %(tenant_id)s, channel, 'transactional', 'sent',
         sha256(id::text::bytea), app_now() - interval '4 days', app_now(), 1
    FROM fanned_out
)
INSERT INTO audit_event (id, tenant_id, kind, actor, notification_id, delivery_id,
                         reason, detail)
SELECT id, %(tenant_id)s, 'notification.accepted', 'service:bench', id, NULL, '',
       '{}'::jsonb
  FROM past
UNION ALL
SELECT id, %(tenant_id)s, 'delivery.sent', 'consumer', notification_id, id, '',
       '{"outcome": "accepted"}'::jsonb
  FROM fanned_out
"""


def fill(people: int, history: int) -> None:
    """Fill the database; print the tenant's key and a template as JSON."""
    tenant, _ = load_tenant()
    _, api_key = issue_key(
        tenant=tenant, service="bench", is_test=False, scopes=tuple(Scope)
    )
    with transaction.atomic():
        _add_people(tenant, people)
        _add_history(tenant, people=people, count=history)
    template = TEMPLATES[0]
    known = {"name": template.name, "version": 1, "variables": template.variables}
    print(json.dumps({"api_key": api_key, "template": known}))


def _add_people(tenant: Tenant, count: int) -> None:
    recipients = Recipient.objects.bulk_create(
        [
            Recipient(tenant=tenant, user_id=user_id(number), locale="en")
            for number in range(count)
        ],
        batch_size=1000,
    )
    Address.objects.bulk_create(
        [
            _address(tenant, recipient, channel, value)
            for number, recipient in enumerate(recipients)
            for channel, value in (
                (Channel.EMAIL, f"person{number}@example.com"),
                (Channel.SMS, f"+8490{number:07}"),
            )
        ],
        batch_size=1000,
    )
    NotificationPreferences.objects.bulk_create(
        NotificationPreferences(
            tenant=tenant, user_id=user_id(number), version=1, opt_outs=["sms"]
        )
        for number in range(0, count, OPTED_OUT_ONE_IN)
    )


def _address(
    tenant: Tenant, recipient: Recipient, channel: Channel, value: str
) -> Address:
    identifier = new_id()

    def sealed(table: str) -> bytes:
        return seal(
            tenant_id=tenant.pk, table=table, row=identifier, plaintext=value.encode()
        )

    return Address(
        id=identifier,
        recipient=recipient,
        channel=channel.value,
        typed=sealed("address.typed"),
        normalised=sealed("address.normalised"),
        key=address_key(tenant_id=tenant.pk, channel=channel, value=value),
    )


def _add_history(tenant: Tenant, *, people: int, count: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(
            HISTORY,
            {
                "tenant_id": tenant.pk,
                "people": people,
                "count": count,
                "template": TEMPLATES[0].name,
            },
        )
